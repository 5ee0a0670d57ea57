package engine

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/liveask"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"
	"agenthost/internal/pairing"
	"agenthost/internal/pause"
	"agenthost/internal/texts"
	"agenthost/session"
	"agenthost/tools"

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
	f := &Fleet{js: js, parts: parts}
	f.lanes = lanes.New(lanes.Options{
		JS: js, Reader: parts.Reader, Host: parts.Host, Weight: parts.Weight, Count: count, Log: parts.Log, Few: &parts.Few, Brake: &f.brake,
		Ender: intake.UnservedEnder{Parts: parts}, Finishing: parts.Finishing,
		Taken: func(agent, stream, lane string) {
			parts.Event(agent, "takeover", map[string]any{"stream": stream, "lane": lane})
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

// Run serves until ctx ends; then it finishes the runs in progress, until work
// ends, and gives back what is left.
func (f *Fleet) Run(ctx, work context.Context) error {
	f.openSigner(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { f.watchMemory(ctx) })
	beside.Go(func() { f.parts.Asks.Open.Follow(ctx, f.js, f.parts.Log) })
	beside.Go(func() { _ = f.parts.Pairings.Run(ctx, f.welcome) }) // it ends with ctx
	beside.Go(func() { f.parts.Pauses.Run(ctx) })
	select {
	case <-f.parts.Pauses.Whole(): // before the first message
	case <-ctx.Done():
	}
	err := f.lanes.Run(ctx, work)
	beside.Wait()
	f.parts.Asks.Wait()
	if left := f.parts.Workers.Close(workersWithin); left > 0 {
		f.parts.Log.Warn().Int("calls", left).Msg("stop agents: calls of tools or models do not end; the host ends without them")
	}
	return err
}

// workersWithin is how long calls that were cancelled may take to end when their runs are
// over. A tool that does not heed its context is not waited for longer.
const workersWithin = time.Second

// welcome tells a person that the operator has let them in.
func (f *Fleet) welcome(p pairing.Pairing) {
	if r := f.Runtime(p.Agent); r != nil {
		r.shared.Intake.Welcome(p)
	}
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

// Unbound stands for the agents of messages that no host of the fleet serves.
const Unbound = lanes.Unbound

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

// Followed reports, once Run has ended, whether another host goes on with what comes.
func (f *Fleet) Followed() bool { return f.lanes.Followed() }

// Alone returns, after Run has ended, once no other host of the fleet lives, or ctx ends.
func (f *Fleet) Alone(ctx context.Context) { f.lanes.Alone(ctx) }

// Status reports what every agent is doing.
func (f *Fleet) Status() []agents.Status {
	runtimes := f.runtimes()
	list := make([]agents.Status, len(runtimes))
	for i, r := range runtimes {
		list[i] = r.Status()
		list[i].Serving = f.lanes.Serves(r.id)
	}
	return list
}

// Pauses are those that hold.
func (f *Fleet) Pauses() []pause.Pause { return f.parts.Pauses.All() }

// Suspects is how many runs of each agent may have ended their host, and wait to be
// tried again.
func (f *Fleet) Suspects() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, r := range f.runtimes() {
			waiting := 0
			for _, p := range r.all() {
				waiting += p.shared.SuspectsWaiting()
			}
			if !yield(r.id, waiting) {
				return
			}
		}
	}
}

// Serving is how many of its lanes this host serves, and how many there are.
func (f *Fleet) Serving() (serving, all int) { return f.lanes.Serving() }

// Share is what this host is to serve, of the lanes of the fleet.
func (f *Fleet) Share() lanes.Share { return f.lanes.Share() }

// Lanes are those that this host serves.
func (f *Fleet) Lanes() []lanes.Status { return f.lanes.Statuses() }

// Partitions are those that this host serves.
func (f *Fleet) Partitions() []lanes.PartitionStatus { return f.lanes.Partitions() }

// LaneLags are the lanes and the partitions that this host serves, as agent/number, each
// with how many of its messages are not done.
func (f *Fleet) LaneLags() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, lane := range f.Lanes() {
			if !yield(strconv.Itoa(lane.Lane), lane.Lag) {
				return
			}
		}
		for _, p := range f.Partitions() {
			if !yield(p.Agent+"/"+strconv.Itoa(p.Partition), p.Lag) {
				return
			}
		}
	}
}

// Ask asks the person behind a call that is under way. The time of the call
// stands still meanwhile.
func (f *Fleet) Ask(ctx context.Context, call tools.Call, prompt string, options []string) (string, error) {
	if r := f.Runtime(call.Agent); r != nil {
		if c, ok := r.inMemory(session.Key(call.Session)); ok {
			return c.Ask(ctx, call, prompt, options)
		}
	}
	return "", liveask.ErrNoPerson
}

// Texts are the host's sentences for the person behind a call that is under way.
func (f *Fleet) Texts(call tools.Call) texts.Book {
	for _, r := range f.runtimes() {
		if r.ID() != call.Agent {
			continue
		}
		if c, ok := r.inMemory(session.Key(call.Session)); ok {
			return c.TextsOf(call.Run)
		}
		return r.now().Texts
	}
	return texts.Book{}
}
