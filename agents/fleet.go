package agents

import (
	"context"
	"iter"
	"sync"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/msgids"
	"agenthost/agents/internal/workers"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go/jetstream"
)

// A Fleet is this host's share of the agents: their runtimes and the lanes that
// feed them. Both may change while it runs.
type Fleet struct {
	js    jetstream.JetStream
	parts *Parts
	lanes *lanes.Set
	brake delivery.Brake // of all lanes, while memory is short
}

// NewFleet joins runtimes to count lanes. Which lane is an agent's follows from
// its id alone, so that all hosts agree.
func NewFleet(js jetstream.JetStream, parts *Parts, count int, runtimes []*Runtime) *Fleet {
	parts.lastTries = new(suspectGate)
	parts.workers = new(workers.Pool)
	parts.asks = &ask.Store{Publisher: parts.Publisher, JS: js, Reader: parts.Reader, Log: &parts.Log, Open: ask.NewIndex()}
	parts.ids = msgids.New()
	parts.few = bus.Few(parts.Log)
	f := &Fleet{js: js, parts: parts}
	f.lanes = lanes.New(lanes.Options{
		JS: js, Reader: parts.Reader, Host: parts.Host, Count: count, Log: parts.Log, Few: &parts.few, Brake: &f.brake,
		Ender: unservedEnder{parts},
		Taken: func(agent, stream, lane string) {
			parts.event(agent, "takeover", map[string]any{"stream": stream, "lane": lane})
		},
	}, asAgents(runtimes))
	return f
}

func asAgents(runtimes []*Runtime) []lanes.Agent {
	list := make([]lanes.Agent, len(runtimes))
	for i, r := range runtimes {
		list[i] = r
	}
	return list
}

// LaneOf is the lane of an agent, of count.
func LaneOf(agent string, count int) int { return lanes.Of(agent, count) }

// Run serves until ctx ends; then it finishes the runs in progress, until work
// ends, and gives back what is left.
func (f *Fleet) Run(ctx, work context.Context) error {
	f.openSigner(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { f.watchMemory(ctx) })
	beside.Go(func() { f.parts.asks.Open.Follow(ctx, f.js, f.parts.Log) })
	err := f.lanes.Run(ctx, work)
	beside.Wait()
	f.parts.asks.Wait()
	f.parts.workers.Close()
	return err
}

// openSigner waits for the key that route messages are signed with, unless the host has
// it already. Without it no agent's word would count.
func (f *Fleet) openSigner(ctx context.Context) {
	for f.parts.Publisher.Signer() == nil {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		signer, err := signing.Open(try, f.js)
		cancel()
		switch {
		case err == nil:
			f.parts.Publisher.SignWith(signer)
		case ctx.Err() != nil:
			return
		default:
			f.parts.Log.Warn().Err(err).Msg("read the key for route messages: failed; trying again")
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// ErrNotServing says that a fleet does not run, or is about to end.
var ErrNotServing = lanes.ErrNotServing

// Change makes runtimes all that is served; changes are what gives those that
// stay other settings. What is stored by when it returns is for the agents that
// were bound to it before, what comes later for those that are now, on all hosts
// of the fleet. An agent that is gone finishes its runs, answers what waits behind
// them with an error, and then its runtime ends. While NATS is away, Change waits until
// ctx ends. One Change at a time.
func (f *Fleet) Change(ctx context.Context, runtimes []*Runtime, changes []func()) error {
	return f.lanes.Change(ctx, asAgents(runtimes), changes)
}

// runtimes are those that are served, in the order of the configuration.
func (f *Fleet) runtimes() []*Runtime {
	agents := f.lanes.Agents()
	list := make([]*Runtime, len(agents))
	for i, a := range agents {
		list[i] = a.(*Runtime)
	}
	return list
}

// Runtime is that of an agent, nil when it is not served.
func (f *Fleet) Runtime(agent string) *Runtime {
	r, _ := f.lanes.Agent(agent).(*Runtime)
	return r
}

// Up waits until every lane asks for messages.
func (f *Fleet) Up(ctx context.Context) error { return f.lanes.Up(ctx) }

// Status reports what every agent is doing.
func (f *Fleet) Status() []Status {
	runtimes := f.runtimes()
	list := make([]Status, len(runtimes))
	for i, r := range runtimes {
		list[i] = r.Status()
		list[i].Serving = f.lanes.Serves(r.id)
	}
	return list
}

// Suspects is how many runs of each agent may have ended their host, and wait to be
// tried again.
func (f *Fleet) Suspects() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, r := range f.runtimes() {
			if !yield(r.id, r.suspectsWaiting()) {
				return
			}
		}
	}
}

// Serving is how many of its lanes this host serves, and how many there are.
func (f *Fleet) Serving() (serving, all int) { return f.lanes.Serving() }
