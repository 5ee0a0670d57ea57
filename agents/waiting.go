package agents

import (
	"context"

	"agenthost/agents/internal/ask"

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
