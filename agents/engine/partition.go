package engine

import (
	"context"
	"sync"

	"agenthost/agents/internal/conversation"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/partitions"
	"agenthost/session"
	"agenthost/session/inmemory"
)

// A partition of an agent is a Runtime of its own for a part of the agent's sessions: it
// has its settings, its budget and its slots in common with the whole, and a lane that any
// host of the fleet may serve. The whole hands on to it.

// newPartition makes one more partition of r. How many sessions it may have in memory follows from the
// configuration: former partitions are at rest.
func (r *Runtime) newPartition() *Runtime {
	cfg := r.now().Config
	sessions := cfg.Session
	sessions.Max = shareOf(sessions.Max, cfg.Partitions)
	return newRuntime(r.agent, r, sessions)
}

// shareOf is the share of one of n in how many sessions may be in memory.
func shareOf(most *int, n int) *int {
	all := inmemory.DefaultMax
	if most != nil {
		all = *most
	}
	share := (all + n - 1) / max(n, 1) // 0 stays: no bound
	return &share
}

// A division of a runtime are its partitions on this host.
type division struct {
	*partitions.Division
	whole *Runtime

	mu       sync.Mutex
	runtimes []*Runtime // of the partitions, by their numbers
	running  running
}

// divide makes the division of an agent, unless it has one, with at least n partitions.
func (r *Runtime) divide(n int) *division {
	r.mu.Lock()
	d := r.division.Load()
	if d == nil {
		d = &division{whole: r}
		d.Division = partitions.New(r.agent, &r.shared.Busy, d)
		d.running.begun = make(chan struct{})
		if r.begun {
			close(d.running.begun)
		}
		r.division.Store(d)
	}
	r.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.runtimes) < n {
		d.runtimes = append(d.runtimes, r.newPartition())
	}
	return d
}

// Divided takes in what the hosts of the fleet have agreed on.
func (r *Runtime) Divided(revision uint64, data []byte) {
	l, err := partitions.ReadLayout(data)
	if err != nil {
		r.agent.Log().Error().Err(err).Msg("partitions: the record cannot be read")
		return
	}
	r.divide(l.Most()).Learn(revision, l)
}

// Agree has the hosts agree on the number of partitions that the agent is to have by now.
func (r *Runtime) Agree() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.division.Load(); d != nil && r.begun && !r.shared.Yields() {
		d.Agree()
	}
}

// Push queues an input with its session in the agent itself.
func (d *division) Push(it *message.Item, key session.Key) { d.whole.push(it, key) }

// Busy reports whether there is anything to do in a session of the agent itself.
func (d *division) Busy(key session.Key) bool {
	entry, ok := d.whole.sessions.Get(key)
	return ok && entry.Value.Busy()
}

// Unfinished are the sessions of which Busy is true.
func (d *division) Unfinished() []string { return d.whole.Unfinished() }

// Yields reports whether nothing is to begin.
func (d *division) Yields() bool { return d.whole.shared.Yields() }

// Reread has the logs that are open read again.
func (d *division) Reread() {
	for _, r := range d.whole.all() {
		r.shared.Owners.Add(1)
	}
}

// Partitions are those that there are by now.
func (r *Runtime) Partitions() []lanes.Agent { return asAgents(r.all()[1:]) }

// Former reports of a partition, by its number, that it has nothing more to do.
func (r *Runtime) Former(number int) bool { return r.whole.division.Load().Former(number) }

// all are the runtime and its partitions.
func (r *Runtime) all() []*Runtime {
	d := r.division.Load()
	if d == nil {
		return []*Runtime{r}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*Runtime{r}, d.runtimes...)
}

// inMemory is a session of the agent, in whichever partition of this host.
func (r *Runtime) inMemory(key session.Key) (*conversation.Conversation, bool) {
	for _, p := range r.all() {
		if entry, ok := p.sessions.Get(key); ok {
			return entry.Value, true
		}
	}
	return nil, false
}

// runPartition is Run of a partition.
func (r *Runtime) runPartition(ctx context.Context) {
	d := r.whole.division.Load()
	if d.enter(ctx) {
		defer d.running.Done()
		r.receive(ctx)
	}
	close(r.closed)
	r.leaveAll()
}

// The running partitions of an agent end before what they have in common with it.
type running struct {
	sync.WaitGroup
	begun  chan struct{} // closed when the agent runs
	closed bool          // it has ended; guarded by the division
}

// enter waits until the agent runs; false: it has ended, or ctx has.
func (d *division) enter(ctx context.Context) bool {
	select {
	case <-d.running.begun:
	case <-ctx.Done():
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running.closed {
		return false
	}
	d.running.Add(1)
	return true
}

// leave waits until no partition runs any more.
func (d *division) leave() {
	d.mu.Lock()
	d.running.closed = true
	d.mu.Unlock()
	d.running.Wait()
}
