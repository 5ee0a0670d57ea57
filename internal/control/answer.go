package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Waiting is a call that waits for an approval, an answer or another agent.
type Waiting = agents.Waiting

// Whom a call waits for, the kinds of a Waiting.
const (
	ForApproval = "approval"
	ForQuestion = "question"
	ForDelegate = "delegate"
)

// The answers to an approval.
const (
	Approve = "approve"
	Deny    = "deny"
)

// Scopes are how far an approval goes, the least far first.
func Scopes() []string {
	return []string{agents.ScopeOnce, agents.ScopeSession, agents.ScopeAlways}
}

// AllWaiting lists what waits, of all agents, the one asked first in front.
func AllWaiting(ctx context.Context, js jetstream.JetStream) ([]Waiting, error) {
	list, err := agents.AllWaiting(ctx, js)
	slices.SortFunc(list, func(a, b Waiting) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// ReadWaiting reads what waits under id; that nothing does is an error.
func ReadWaiting(ctx context.Context, js jetstream.JetStream, id string) (Waiting, error) {
	return agents.ReadWaiting(ctx, js, id)
}

// An Answer is what a person says to a call that waits, by another door than
// its chat.
type Answer struct {
	ID    string `json:"id"`     // of the Waiting
	Text  string `json:"answer"` // approve or deny, an option, or any text
	Scope string `json:"scope,omitempty"`
	By    string `json:"by,omitempty"`
	// Args are what is to run in place of the arguments that the approval shows.
	Args json.RawMessage `json:"args,omitempty"`
	Door string          `json:"-"` // by which way it is given; empty: bus.DoorAPI
}

// Message is what brings the answer to the agent of w, once it is signed by a
// signing.Signer. It is an error when the answer does not fit what w asks. replyTo, when it is not empty, gets the
// outcome.
func (a Answer) Message(w Waiting, replyTo string) (*nats.Msg, error) {
	if answer, ok := agents.ReadVerdict(a.Text); ok && w.Kind == ForApproval {
		a.Text = answer
	}
	if err := a.check(w); err != nil {
		return nil, fmt.Errorf("answer %q: %w", a.ID, err)
	}
	msg, err := agents.AnswerMessageBy(cmp.Or(a.Door, bus.DoorAPI), w, a.By, strings.TrimSpace(a.Text), a.Scope, replyTo)
	if err == nil && len(a.Args) > 0 {
		msg, err = agents.WithArgs(msg, a.Args)
	}
	return checked(msg, err)
}

func (a Answer) check(w Waiting) error {
	text := strings.TrimSpace(a.Text)
	approves := w.Kind == ForApproval && strings.EqualFold(text, Approve)
	switch {
	case w.Kind == ForDelegate:
		return fmt.Errorf("it waits for the agent %s, not for a person", w.To)
	case a.Scope != "" && !slices.Contains(Scopes(), a.Scope):
		return fmt.Errorf("scope is %q; want one of %s", a.Scope, strings.Join(Scopes(), ", "))
	case a.Scope != "" && !approves:
		return errors.New("only what is approved has a scope")
	case w.Kind == ForApproval && !approves && !strings.EqualFold(text, Deny):
		return fmt.Errorf("%q is no answer to an approval; want %s or %s", text, Approve, Deny)
	case len(a.Args) > 0 && !approves:
		return errors.New("only what is approved takes other arguments")
	case len(a.Args) > 0 && (!json.Valid(a.Args) || !bus.IsObject(a.Args)):
		return errors.New(`args: want a JSON object, such as {"path":"other.txt"}`)
	case text == "":
		return errors.New("it has no text")
	case w.Kind == ForQuestion && len(w.Options) > 0 && !slices.ContainsFunc(w.Options, func(o string) bool {
		return strings.EqualFold(strings.TrimSpace(o), text)
	}):
		return fmt.Errorf("%q is none of %s", text, strings.Join(w.Options, ", "))
	}
	return nil
}

// checked refuses a message that a host would take for malformed.
func checked(msg *nats.Msg, err error) (*nats.Msg, error) {
	if err == nil {
		_, err = bus.DecodeRoute(msg.Data)
	}
	if err != nil {
		return nil, err
	}
	return msg, nil
}

// WholeCall is the call that waits with all its arguments, for people: a prompt
// has room for the beginning only. Without arguments it is the prompt.
func WholeCall(ctx context.Context, js jetstream.JetStream, w Waiting) (string, error) {
	sid, err := SessionID(w.Agent, w.Session)
	if err != nil {
		return "", err
	}
	state, _, err := Sessions(js).State(ctx, w.Agent, sid)
	if err != nil {
		return "", err
	}
	if w.Kind == ForApproval && state.Run != nil && state.Run.ID == w.Run {
		for _, call := range state.Run.Calls {
			if call.ID == w.Call && len(call.Args) > 0 {
				return tools.Whole(call.Name, call.Args), nil
			}
		}
	}
	return w.Prompt, nil
}
