// Package intake decodes what the lane of an agent brings, and ends what cannot be taken: what
// is wrong becomes a dead letter and its sender is told, results that nothing waits for are
// dropped, and so are firings whose time is over. What is for agents that no host serves ends
// here as well.
package intake

import (
	"context"
	"sync"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/senders"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/llm"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// An Intake is that of one agent. Its methods may be called by many goroutines.
type Intake struct {
	Agent string
	Parts *parts.Parts
	Now   func() *profile.Profile // of the agent
	// IsOrder reports whether the host itself answers a message.
	IsOrder func(*bus.Inbound) bool
	// Work is what work for a message is cancelled by, and Busy counts it.
	Work func() context.Context
	Busy *sync.WaitGroup

	// Whole is that of the agent, where this is the intake of one of its partitions: those of a
	// host count what senders write together.
	Whole *Intake

	limiter senders.Limiter // of the rates of senders
}

// log is made when there is something to log: an agent at rest is small.
func (i *Intake) log() *zerolog.Logger {
	log := i.Parts.Log.With().Str("agent", i.Agent).Logger()
	return &log
}

// Decode decodes a delivery. One that cannot be taken is dealt with, and nil.
func (i *Intake) Decode(d *delivery.Delivery) *message.Item {
	it, err := message.Decode(d, i.Parts.Publisher.Signer())
	if err != nil {
		if i.namesAnother(d) {
			d.Done()
			return nil
		}
		i.turnBack(d, err)
		if it == nil {
			it = message.Unread(d)
		}
		if it != nil && it.Origin.Inbound != nil {
			if !i.admitsUnread(it) {
				return nil
			}
			i.turnBackInbound(it, err)
		}
		i.Parts.Bury(i.Agent, d, string(llm.CodeValidation), err.Error(), 0, d.Done)
		return nil
	}
	if i.Parts.Trace != nil {
		i.trace(&it.Input, it.Stored)
	}
	if it.Origin.Inbound != nil {
		own := it.Origin.Key(it.Input.ID)
		it.Join(own, i.Parts.Identities.Session(own))
		if it.Binding = i.Now().Binding(d.Subject); it.Binding != nil {
			it.Age(d.Stored)
		}
	}
	return it
}

// trace begins the trace of an input that came without one, or with one that is malformed.
func (i *Intake) trace(in *run.Input, stored time.Time) {
	if (tracing.Context{Parent: in.Trace, State: in.State}).Outward() == (tracing.Context{}) {
		in.Trace, in.State = i.Parts.Trace(i.Agent, in.Subject, in.Seq, stored), ""
	}
}
