package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/audit"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Waiting is a call that waits for a person or for another agent.
type Waiting = agents.Waiting

// The kinds of a Waiting: what it waits for.
const (
	ForApproval = "approval"
	ForQuestion = "question"
	ForDelegate = "delegate"
)

// ErrNotWaiting is the error of an id that no call waits under.
var ErrNotWaiting = agents.ErrNotWaiting

// Waiting lists what waits, of all agents, the oldest first.
func (c *Client) Waiting(ctx context.Context) ([]Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := allWaiting(ctx, c.js)
	return list, hintBucket(err)
}

func allWaiting(ctx context.Context, js jetstream.JetStream) ([]Waiting, error) {
	list, err := agents.AllWaiting(ctx, js)
	slices.SortFunc(list, func(a, b Waiting) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// FindWaiting reads what waits under an id, which may be shortened.
func (c *Client) FindWaiting(ctx context.Context, id string) (Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	w, err := c.findWaiting(ctx, id)
	return w, hintBucket(err)
}

func (c *Client) findWaiting(ctx context.Context, id string) (Waiting, error) {
	w, err := agents.ReadWaiting(ctx, c.js, id)
	if err == nil || !errors.Is(err, ErrNotWaiting) {
		return w, err
	}
	list, failed := allWaiting(ctx, c.js)
	if failed != nil {
		return w, failed
	}
	whole, failed := Resolve("id", id, AnswerableIDs(list))
	switch {
	case failed != nil:
		return w, failed
	case whole == "":
		return w, err
	}
	return agents.ReadWaiting(ctx, c.js, whole)
}

// AnswerableIDs are the ids of those that a person answers.
func AnswerableIDs(list []Waiting) (ids []string) {
	for _, w := range list {
		if w.Kind != ForDelegate {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// WholeCall is the call that waits with all its arguments, for people: a prompt
// has room for the beginning only. Without arguments it is the prompt.
func (c *Client) WholeCall(ctx context.Context, w Waiting) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	place, token := w.Session, ""
	if parts := strings.Split(w.ID, "."); place == "" && len(parts) == 3 { // as an Event brings it
		place, token = parts[1], parts[2]
	}
	if place == "" {
		return w.Prompt, nil
	}
	state, _, err := c.Sessions().state(ctx, w.Agent, place)
	if err != nil {
		return "", err
	}
	if w.Kind != ForApproval || state.Run == nil {
		return w.Prompt, nil
	}
	for _, call := range state.Run.Calls {
		is := state.Run.ID == w.Run && call.ID == w.Call || token != "" && call.Wait == token
		if is && len(call.Args) > 0 {
			return tools.Whole(call.Name, call.Args), nil
		}
	}
	return w.Prompt, nil
}

// The answers to an approval.
const (
	Approve = "approve"
	Deny    = "deny"
)

// Scopes are how far an approval goes, the least far first.
func Scopes() []string {
	return []string{agents.ScopeOnce, agents.ScopeSession, agents.ScopeAlways}
}

// An Answer is what a person answers to a call that waits, elsewhere than in its
// chat.
type Answer struct {
	ID    string `json:"id"`     // of the Waiting
	Text  string `json:"answer"` // approve or deny, an option, or any text
	Scope string `json:"scope,omitempty"`
	By    string `json:"by,omitempty"`
	// Args are what is to run in place of the arguments that the approval shows.
	Args json.RawMessage `json:"args,omitempty"`
	Door string          `json:"-"` // by which way it is given; empty: bus.DoorAPI
}

// Message is the message with the answer for the agent of w, to be signed by a
// signing.Signer. An answer that does not fit w is an error. The host publishes on
// replyTo, when it is not empty, what has become of it.
func (a Answer) Message(w Waiting, replyTo string) (*nats.Msg, error) {
	if err := a.fit(w); err != nil {
		return nil, fmt.Errorf("answer %q: %w", a.ID, err)
	}
	msg, err := agents.AnswerMessageBy(cmp.Or(a.Door, bus.DoorAPI), w, a.By, strings.TrimSpace(a.Text), a.Scope, replyTo)
	if err == nil && len(a.Args) > 0 {
		msg, err = agents.WithArgs(msg, a.Args)
	}
	return checked(msg, err)
}

// fit makes approve or deny of the words that mean it, and nothing of null arguments; an error says
// why a does not answer w.
func (a *Answer) fit(w Waiting) error {
	if answer, ok := agents.ReadVerdict(a.Text); ok && w.Kind == ForApproval {
		a.Text = answer
	}
	if string(a.Args) == "null" { // as programs write what is not set
		a.Args = nil
	}
	return a.check(w)
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
		return errors.New("a scope needs the answer approve")
	case w.Kind == ForApproval && !approves && !strings.EqualFold(text, Deny):
		return fmt.Errorf("%q is no answer to an approval; want %s or %s", text, Approve, Deny)
	case len(a.Args) > 0 && !approves:
		return errors.New("other arguments need the answer approve")
	case len(a.Args) > 0 && (!json.Valid(a.Args) || !bus.IsObject(a.Args)):
		return errors.New(`args: want a JSON object, such as {"path":"other.txt"}`)
	case text == "":
		return errors.New("it has no text")
	case w.Kind == ForQuestion && len(w.Options) > 0 && !slices.ContainsFunc(w.Options, func(o string) bool {
		return strings.EqualFold(strings.TrimSpace(o), text)
	}):
		return fmt.Errorf("%q: want one of %s", text, strings.Join(w.Options, ", "))
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

// splitScope splits a typed answer into answer and scope.
func splitScope(text string) (answer, scope string) {
	answer, scope, _ = strings.Cut(text, " ")
	return answer, strings.ToLower(strings.TrimSpace(scope))
}

// Answer answers an approval or a question, whose id may be shortened, and waits
// at most within for the report of the host; 0: OrderWithin. A host that refuses
// the answer makes a *RefusedError.
func (c *Client) Answer(ctx context.Context, a Answer, within time.Duration) (Outcome, error) {
	w, err := c.FindWaiting(ctx, a.ID)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Waiting: w, Session: w.Session}
	a.ID, a.Door = w.ID, cmp.Or(a.Door, c.door)
	r, err := c.listenForReport()
	if err != nil {
		return o, err
	}
	defer r.close()
	msg, err := a.Message(w, r.inbox.Subject)
	if err != nil {
		return o, err
	}
	if o.Stored, err = r.give(ctx, w.Agent, msg, within); err != nil {
		err = fmt.Errorf("answer %q: %w", w.ID, err)
	}
	return o, err
}

// Allowed is a standing approval: something that a person has allowed for longer
// than once.
type Allowed = agents.Allowed

// Allowed lists the standing approvals of all agents, the oldest first.
func (c *Client) Allowed(ctx context.Context) ([]Allowed, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := allAllowed(ctx, c.js)
	if err != nil {
		return nil, hintBucket(fmt.Errorf("list standing approvals: %w", err))
	}
	slices.SortFunc(list, func(a, b Allowed) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

func allAllowed(ctx context.Context, js jetstream.JetStream) (list []Allowed, err error) {
	for entry, err := range records.Entries(ctx, js, bus.AllowedBucket, ">") {
		if err != nil {
			return nil, err
		}
		list = append(list, readAllowed(entry.Key(), entry.Created(), entry.Value()))
	}
	return list, nil
}

// readAllowed reads an entry. What no host has written allows nothing, and is listed by its key.
func readAllowed(id string, at time.Time, data []byte) Allowed {
	a := Allowed{}
	if json.Unmarshal(data, &a) != nil || a.ID != id {
		a = Allowed{What: "this entry was not written by a host and allows nothing", At: at}
	}
	a.ID = id
	return a
}

// Revoke takes back a standing approval: from then on it is asked again. id may be
// shortened. It returns what was allowed.
func (c *Client) Revoke(ctx context.Context, id string) (Allowed, error) {
	known, err := c.Allowed(ctx)
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	ids := make([]string, len(known))
	for i, one := range known {
		ids[i] = one.ID
	}
	whole, err := Resolve("id", id, ids)
	if err != nil {
		return Allowed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	was, err := revoke(ctx, c.js, cmp.Or(whole, id))
	if err == nil {
		c.note(ctx, audit.Entry{Action: "approvals-revoke", Agent: was.Agent, Session: was.Session, Target: was.ID, Detail: was.What})
	}
	return was, err
}

func revoke(ctx context.Context, js jetstream.JetStream, id string) (Allowed, error) {
	kv, err := js.KeyValue(ctx, bus.AllowedBucket)
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	entry, err := records.NewReader(js).Entry(ctx, bus.AllowedBucket, id)
	if errors.Is(err, records.ErrNotFound) {
		return Allowed{}, fmt.Errorf("revoke %q: nothing is allowed under this id", id)
	}
	if err == nil {
		err = kv.Delete(ctx, id, jetstream.LastRevision(entry.Seq))
	}
	if err != nil {
		return Allowed{}, fmt.Errorf("revoke %q: %w", id, err)
	}
	return readAllowed(id, entry.Time, entry.Data), nil
}
