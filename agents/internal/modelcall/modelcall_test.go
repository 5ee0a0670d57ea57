package modelcall

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// caller calls models for a run of ana. Nothing of it is connected.
func caller(cfg agents.Config, behavior agents.Behavior) *Caller {
	cfg.ID = "ana"
	box := &profile.Toolbox{Registry: tools.NewRegistry(), Validator: new(tools.Validator)}
	p := profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: box, Behavior: behavior}, new(profile.Peers))
	a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{Hooks: hooks.New(zerolog.Nop())}), Work: context.Background()}
	a.Profile.Store(p)
	r := &inflight.Run{Session: inflight.Session{Agent: a, Key: "web/dm/ann"}, ID: "r1", Journal: new(session.Log)}
	r.Prepare([]*message.Item{{Input: run.Input{ID: "m1"}, Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann"}}}})
	return &Caller{Run: r, Told: new(atomic.Bool), Word: func(*run.Wait) {}}
}

func text(s string) llm.Message {
	return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: s}}}
}

// An answer that does not keep to its schema is corrected twice, and then an error.
func TestInvokeChecked(t *testing.T) {
	t.Parallel()
	calls := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.ToolCall, Call: "c", Name: "look"}}}
	tests := map[string]struct {
		answers []llm.Message
		finish  llm.Finish
		fault   error
		kind    run.SignalKind
		says    string
		asked   int
	}{
		"right":           {answers: []llm.Message{text(`{"n":1}`)}, kind: run.StreamEnd, says: `{"n":1}`, asked: 1},
		"right at last":   {answers: []llm.Message{text("one"), text(`{"n":"1"}`), text(`{"n":1}`)}, kind: run.StreamEnd, says: `{"n":1}`, asked: 3},
		"never right":     {answers: []llm.Message{text("one"), text("two"), text("three")}, kind: run.Fault, asked: 3},
		"a tool first":    {answers: []llm.Message{calls}, kind: run.StreamEnd, asked: 1},
		"refused":         {answers: []llm.Message{text("I may not.")}, finish: llm.FinishContentFilter, kind: run.StreamEnd, says: "I may not.", asked: 1},
		"nothing":         {answers: []llm.Message{{Role: llm.Assistant}}, kind: run.StreamEnd, asked: 1},
		"the model fails": {answers: []llm.Message{{}}, fault: errors.New("down"), kind: run.Fault, asked: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, asked := caller(agents.Config{}, nil), 0
			req := llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
			sig := c.invokeChecked(t.Context(), req, c.newMeter(), func(_ context.Context, req llm.Request, _ *meter) (llm.Message, llm.Finish, error) {
				if asked++; len(req.Messages) != 2*asked-1 {
					t.Errorf("try %d is sent %d messages", asked, len(req.Messages))
				}
				if last := req.Messages[len(req.Messages)-1].Text(); asked > 1 && !strings.HasPrefix(last, "Your answer does not keep to the agreed JSON Schema: ") {
					t.Errorf("it is told %q", last)
				}
				return tt.answers[asked-1], tt.finish, tt.fault
			})
			if sig.Kind != tt.kind || asked != tt.asked {
				t.Errorf("got %+v after %d tries, want %s after %d", sig, asked, tt.kind, tt.asked)
			}
			if tt.says != "" && sig.Message.Text() != tt.says {
				t.Errorf("it says %q", sig.Message.Text())
			}
			if len(req.Messages) != 1 {
				t.Error("the tries that failed have become part of the conversation")
			}
		})
	}
}

// What a behaviour decides is the answer of a model; one that says nothing has failed,
// except at a heartbeat.
func TestDecided(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer agents.Answer
		fault  error
		finish llm.Finish
		want   string // of the error
	}{
		"says something": {answer: agents.Answer{Message: text("hi")}, finish: llm.FinishStop},
		"refuses":        {answer: agents.Answer{Finish: llm.FinishContentFilter}, finish: llm.FinishContentFilter},
		"says nothing":   {want: errSaysNothing.Error()},
		"fails":          {fault: errors.New("no idea"), want: "behavior: Decide: no idea"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := caller(agents.Config{}, deciding{answer: tt.answer, err: tt.fault})
			msg, finish, err := c.decided(t.Context(), llm.Request{System: "Be kind."}, c.newMeter(), nil)
			if tt.want != "" {
				if err == nil || err.Error() != tt.want {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || finish != tt.finish || msg.Text() != tt.answer.Message.Text() {
				t.Errorf("got %+v, %s, %v", msg, finish, err)
			}
		})
	}
}

// A behaviour cannot ask models when its turn is over.
func TestAskingIsOver(t *testing.T) {
	t.Parallel()
	c := caller(agents.Config{}, nil)
	turn, over := context.WithCancelCause(t.Context())
	ask := c.asking(turn, c.newMeter(), nil)
	over(errTurnOver)
	if _, err := ask(t.Context(), llm.Request{}, false); !errors.Is(err, errTurnOver) {
		t.Errorf("got %v", err)
	}
}

type deciding struct {
	agents.Base
	answer agents.Answer
	err    error
}

func (d deciding) Decide(context.Context, agents.Turn) (agents.Answer, error) { return d.answer, d.err }

// What goes beyond a budget fails or asks, as the agent's limits say.
func TestExceeded(t *testing.T) {
	t.Parallel()
	over := &budget.ExceededError{Span: budget.OfRun, Spent: 300_000_000, Limit: 200_000_000}
	failing := caller(agents.Config{}, nil).exceeded(over, nil)
	if failing.Kind != run.Fault || failing.Error.Code != llm.CodeBudgetExceeded || failing.Error.Message == "" {
		t.Errorf("got %+v", failing)
	}
	asking := caller(agents.Config{Limits: agents.Limits{Budget: agents.Budget{OnExceed: askExceeded}}}, nil).exceeded(over, nil)
	if asking.Kind != run.Held || asking.Wait.For != run.ForApproval || !strings.Contains(asking.Wait.Prompt, llm.Money(300_000_000)) || !strings.Contains(asking.Wait.Prompt, llm.Money(200_000_000)) {
		t.Errorf("got %+v", asking.Wait)
	}
}

// A call that is sure to be too much is not begun: spent is over, or with its input would be.
func TestOverOfRunAndSession(t *testing.T) {
	t.Parallel()
	const cent = 1_000_000
	limited := agents.Config{Limits: agents.Limits{Budget: agents.Budget{Run: 0.10}}}
	tests := map[string]struct {
		cfg          agents.Config
		spent, input int64
		span         budget.Span
	}{
		"no budget":          {spent: 1000 * cent},
		"used up":            {cfg: limited, spent: 10 * cent, span: budget.OfRun},
		"its input too much": {cfg: limited, spent: 5 * cent, input: 6 * cent, span: budget.OfRun},
		"of the session":     {cfg: agents.Config{Limits: agents.Limits{Budget: agents.Budget{Session: 0.01}}}, spent: cent, span: budget.OfSession},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := caller(tt.cfg, nil).newMeter()
			m.spent = tt.spent
			over, err := m.over(t.Context(), nil, tt.input)
			if err != nil || (over == nil) != (tt.span == "") || over != nil && over.Span != tt.span {
				t.Errorf("got %+v, %v; want %q", over, err, tt.span)
			}
		})
	}
}

// A conversation too long for one summary is summed up in pieces, the last ones of it.
func TestToSumUp(t *testing.T) {
	t.Parallel()
	var old []llm.Message
	for range 100 {
		old = append(old, llm.UserText(strings.Repeat("word ", 100)))
	}
	if got := toSumUp(old[:2], run.Effect{Room: 100_000, Short: 2}); len(got) != 1 || len(got[0]) != 2 {
		t.Errorf("what fits: got %d pieces", len(got))
	}
	pieces := toSumUp(old, run.Effect{Room: 1000, Short: 100})
	if len(pieces) != mostPieces {
		t.Errorf("got %d pieces, want %d", len(pieces), mostPieces)
	}
	summed := append([]llm.Message{run.Summary("so far")}, old...)
	if pieces := toSumUp(summed, run.Effect{Room: 1000, Short: 101}); !run.IsSummary(pieces[0][0]) {
		t.Error("the summary so far is left out")
	}
}

// The signal of a call that did not end names what broke it off.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	over := &llm.Error{Code: llm.CodeBudgetExceeded, Err: &budget.ExceededError{Span: budget.OfDay}}
	tests := map[string]struct {
		ctx     context.Context
		err     error
		want    llm.Code
		tooLong bool
	}{
		"the time of the run": {late, errors.New("x"), llm.CodeRunTimeout, false},
		"too long":            {t.Context(), &llm.Error{Code: llm.CodeValidation, TooLong: true}, llm.CodeCompactionFailed, true},
		"the model":           {t.Context(), &llm.Error{Code: llm.CodeRateLimited}, llm.CodeRateLimited, false},
		"a budget":            {t.Context(), over, llm.CodeBudgetExceeded, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := caller(agents.Config{}, nil)
			sig := c.brokenOff(tt.ctx, tt.err, c.newMeter())
			if sig.Kind != run.Fault || sig.Error.Code != tt.want || sig.TooLong != tt.tooLong {
				t.Errorf("got %+v, %+v", sig, sig.Error)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for mime, want := range map[string]string{"image/png": "image", "audio/ogg": "audio", "video/mp4": "video", "text/plain": "file", "": "file"} {
		if got := kindOf(mime); got != want {
			t.Errorf("%q: got %q", mime, got)
		}
	}
}

// What a model is shown leaves the messages of the log as they are.
func TestNoImages(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{llm.UserText("hi"), {Parts: []llm.Part{{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://example.org/a.png"}}}}}
	if diff := cmp.Diff(messages, caller(agents.Config{}, nil).shown(t.Context(), messages, new(llm.Chain))); diff != "" {
		t.Error(diff)
	}
}

// The longest answer so far bounds what the next may become.
func TestAddAttempt(t *testing.T) {
	t.Parallel()
	m := caller(agents.Config{}, nil).newMeter()
	for _, output := range []int64{10, 500, 20} {
		m.add(llm.Attempt{Provider: "openai", Model: "m", Number: 1, Cost: 3, Usage: llm.Usage{Output: output}})
	}
	m.add(llm.Attempt{Err: &llm.Error{Code: llm.CodeRateLimited}})
	if m.spent != 9 || m.t.Agent.Longest.Load() != 500 || len(m.events) != 4 {
		t.Errorf("spent %d, longest %d, %d events", m.spent, m.t.Agent.Longest.Load(), len(m.events))
	}
	if last := m.events[3]; last.Usage != nil || last.Error == nil || last.Error.Code != llm.CodeRateLimited || last.Error.Message == "" {
		t.Errorf("got %+v", last)
	}
}

// A request is made again without attachments only where these may be what was
// refused, and where nothing was said yet.
func TestMayBeMedia(t *testing.T) {
	t.Parallel()
	status := func(code int) error { return llm.StatusError(code, nil, errors.New("no")) }
	long := &llm.Error{Code: llm.CodeValidation, Status: 400, TooLong: true}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{status(400), true},
		{status(404), true},
		{status(413), true},
		{status(415), true},
		{status(422), true},
		{status(401), false},
		{status(403), false},
		{status(429), false},
		{status(500), false},
		{long, false},
		{&llm.Error{Code: llm.CodeContentFilter, Status: 400}, false},
		{&llm.Error{Code: llm.CodeValidation}, false},
		{errors.New("x"), false},
	} {
		if got := mayBeMedia(tt.err); got != tt.want {
			t.Errorf("%v: got %v", tt.err, got)
		}
	}
}

// An answer that breaks off is not begun again without the attachments.
func TestMediaOfAnAnswerThatBreaks(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{{Role: llm.User, Parts: []llm.Part{{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "u"}}}}}
	c, broken := caller(agents.Config{}, nil), llm.StatusError(400, nil, errors.New("no"))
	called := c.newMeter()
	called.spoke = true
	err := c.converseAgain(t.Context(), llm.Request{Messages: messages}, called, func(llm.Delta) { t.Error("asked again") }, broken)
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// An address that no provider may be given is made content or words: not all
// read data: URLs, and a server on this machine would read its files.
func TestAddressesOfMedia(t *testing.T) {
	t.Parallel()
	const refused = "is not shown: it has no address on the web]"
	for address, want := range map[string]llm.Part{
		"data:image/png;base64,aGk=":                   {Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/png", Data: []byte("hi")}},
		"DATA:image/png;name=a.png;base64,aGk":         {Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/png", Data: []byte("hi")}},
		"data:image/svg+xml,%3Csvg/%3E":                {Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/svg+xml", Data: []byte("<svg/>")}},
		"data:image/png;base64,???":                    {Type: llm.Text, Text: `[image "" is not shown: it cannot be read]`},
		"data:image/png":                               {Type: llm.Text, Text: `[image "" is not shown: it cannot be read]`},
		"data:," + strings.Repeat("a", mediaPerCall+1): {Type: llm.Text, Text: `[image "" is not shown: a model sees 20 MB of attachments at most]`},
		"file:///etc/passwd":                           {Type: llm.Text, Text: `[image "" ` + refused},
		"/etc/passwd":                                  {Type: llm.Text, Text: `[image "" ` + refused},
		"javascript:alert(1)":                          {Type: llm.Text, Text: `[image "" ` + refused},
		"HTTPS://example.org/a.png":                    {Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "HTTPS://example.org/a.png"}},
		"http://10.0.0.7/a.png":                        {Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "http://10.0.0.7/a.png"}},
	} {
		messages := []llm.Message{{Parts: []llm.Part{{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: address}}}}}
		req := llm.Request{Messages: messages}
		got := messages
		if c := caller(agents.Config{}, nil); req.Look().Stored {
			got = c.shown(t.Context(), messages, new(llm.Chain))
		}
		if diff := cmp.Diff(want, got[0].Parts[0]); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", address, diff)
		}
		if messages[0].Parts[0].Media.URL != address {
			t.Errorf("%.60s: the log's message was changed", address)
		}
	}
}
