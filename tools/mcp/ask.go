package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Ask asks a person and returns the answer. ErrDeclined says that there will
// be none; any other error, that no person could be asked. It returns soon after
// ctx has ended, which is when the call ends that the question belongs to.
type Ask func(ctx context.Context, q Question) (string, error)

// A Question is one thing that a server wants to know while a call runs.
type Question struct {
	Call    tools.Call
	Prompt  string
	Options []string // the answers to choose from; empty: any text
}

// errSecret refuses a form that asks for a secret.
var errSecret = fmt.Errorf("it asks for a secret, which has no place in a chat: %w", ErrDeclined)

// What a person is asked to read and to answer at most. What is larger no chat can show, and what
// is beyond it no person would go through.
const (
	longestForm   = 64 << 10 // bytes, with its message
	mostFields    = 50
	mostChoices   = 500 // of a field
	mostQuestions = 8   // of one call at once
)

// largeError refuses a form that is beyond these.
type largeError string

func (e largeError) Error() string { return string(e) }
func (largeError) Unwrap() error   { return ErrDeclined }

// ErrDeclined is what an Ask returns when the person does not want to answer.
var ErrDeclined = errors.New("declined")

// triesPerField is how often a person is asked for a value that can be used.
const triesPerField = 3

// elicit answers a server's question, a field at a time. Which call it belongs to
// is not always said; when that is not clear, no person can be asked.
func (p *peer) elicit(ctx context.Context, wanted *sdk.ElicitParams) *sdk.ElicitResult {
	a, ok := ctx.Value(askedKey{}).(*asked)
	if !ok {
		a = p.asked.only()
	}
	if p.opts.Ask == nil || a == nil || wanted.URL != "" {
		p.few.Warn().Bool("known", a != nil).Msg("MCP question: refused, no session to ask in")
		return &sdk.ElicitResult{Action: "decline"}
	}
	defer a.questions.Add(-1)
	if a.questions.Add(1) > mostQuestions {
		p.few.Warn().Str("tool", a.call.Name).Int("most", mostQuestions).
			Msg("question of an MCP server refused: its call asks too many at once")
		return &sdk.ElicitResult{Action: "decline"}
	}
	asking, cancel := context.WithCancel(a.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	content, err := p.fill(asking, a.call, wanted)
	switch {
	case err == nil:
		return &sdk.ElicitResult{Action: "accept", Content: content}
	case errors.Is(err, errSecret):
		p.few.Warn().Str("tool", a.call.Name).Msg("question of an MCP server refused: it asks for a password or another secret")
		return &sdk.ElicitResult{Action: "decline"}
	case isLarge(err):
		p.few.Warn().Err(err).Str("tool", a.call.Name).Msg("question of an MCP server refused: it is too large for a chat")
		return &sdk.ElicitResult{Action: "decline"}
	case errors.Is(err, ErrDeclined):
		return &sdk.ElicitResult{Action: "decline"}
	default:
		p.few.Warn().Err(err).Msg("question of an MCP server not answered")
		return &sdk.ElicitResult{Action: "cancel"}
	}
}

func isLarge(err error) bool {
	_, large := errors.AsType[largeError](err)
	return large
}

// fill asks for every field of the form, or for a plain yes when it has none.
func (p *peer) fill(ctx context.Context, call tools.Call, wanted *sdk.ElicitParams) (map[string]any, error) {
	form, err := formOf(wanted.Message, wanted.RequestedSchema)
	if err != nil {
		return nil, err
	}
	if wantsSecret(wanted.Message, form) {
		return nil, errSecret
	}
	content, message := map[string]any{}, p.saidBy(call, wanted.Message)
	if len(form) == 0 {
		return content, p.confirm(ctx, call, message)
	}
	for _, f := range form {
		value, err := p.askField(ctx, call, message, f)
		if err != nil {
			return nil, err
		}
		if value != nil {
			content[f.name] = value
		}
	}
	return content, nil
}

// confirm asks for a plain yes. An empty answer is none.
func (p *peer) confirm(ctx context.Context, call tools.Call, message string) error {
	for range triesPerField {
		answer, err := p.opts.Ask(ctx, Question{Call: call, Prompt: message, Options: yesOrNo})
		switch {
		case err != nil:
			return err
		case strings.EqualFold(answer, yes):
			return nil
		case strings.TrimSpace(answer) != "":
			return ErrDeclined
		}
	}
	return ErrDeclined
}

// saidBy is a server's message as a person is shown it: the host asks nothing of
// the kind, and the server is not to pass for it.
func (p *peer) saidBy(call tools.Call, message string) string {
	server, _, _ := strings.Cut(call.Name, ".")
	if p.opts.Introduce != nil {
		return p.opts.Introduce(call, server, clean(message))
	}
	return "The MCP server " + server + " asks: " + clean(message)
}

func (p *peer) askField(ctx context.Context, call tools.Call, message string, f field) (any, error) {
	q := Question{Call: call, Prompt: f.prompt(message), Options: f.options()}
	for try := 1; ; try++ {
		answer, err := p.opts.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		value, err := f.value(strings.TrimSpace(answer))
		if err == nil {
			return value, nil
		}
		if try == triesPerField {
			return nil, err
		}
		q.Prompt = f.prompt(message) + "\n(" + clean(err.Error()) + ")"
	}
}
