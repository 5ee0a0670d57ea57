package agents

import (
	"context"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/crash"
	"agenthost/run"

	"github.com/nats-io/nats.go/jetstream"
)

// A Waiting is a call that waits for an answer, as the bucket AGENT_WAITING keeps it.
type Waiting = ask.Waiting

// An Allowed is something a person has allowed for longer than once.
type Allowed = ask.Allowed

// How far an approval goes.
const (
	ScopeOnce    = ask.ScopeOnce
	ScopeSession = ask.ScopeSession
	ScopeAlways  = ask.ScopeAlways
)

// ErrNotWaiting says that nothing waits under an id.
var ErrNotWaiting = ask.ErrNotWaiting

// ReadWaiting reads what waits under id.
func ReadWaiting(ctx context.Context, js jetstream.JetStream, id string) (Waiting, error) {
	return ask.Read(ctx, js, id)
}

// AllWaiting lists what waits, of all agents.
func AllWaiting(ctx context.Context, js jetstream.JetStream) ([]Waiting, error) {
	return ask.All(ctx, js)
}

// ReadVerdict is what a word says to an approval, run.Approve or run.Deny, in English:
// "Yes." approves.
func ReadVerdict(word string) (answer string, ok bool) { return ask.ReadVerdict(word) }

// waitID names a call of the conversation that waits.
func (c *conversation) waitID(runID string, call run.Call) string {
	return ask.ID(c.r.id, c.key, runID, call)
}

// ask puts a question to the person or the agent that it is for. It is done again after a
// restart, and then changes nothing: everything in it has a name of its own.
func (t *runner) ask(ctx context.Context, call run.Call) error {
	w := Waiting{
		ID: t.c.waitID(t.id, call), Agent: t.c.r.id, Session: string(t.c.key), Run: t.id,
		Call: call.ID, Kind: call.Asked, Tool: call.Name, Prompt: call.Prompt, Options: call.Options, To: call.To,
		Number: call.Number, AskedAt: call.AskedAt, Deadline: call.Deadline, Origin: t.person(),
		Model: t.lastModel(), Host: t.c.r.parts.Host, Approvers: t.c.r.now().cfg.Approvers,
	}
	if call.Asked == run.ForDelegate {
		if err := t.handOver(ctx, w, call.Context); err != nil {
			return err
		}
	}
	asks := t.c.r.parts.asks
	if err := asks.Remind(ctx, w, t.fallbacks[call.ID], t.trace.Set); err != nil {
		return err
	}
	if err := asks.Put(ctx, w); err != nil {
		return err
	}
	crash.Point("after-ask")
	return nil
}
