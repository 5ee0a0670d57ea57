package engine

import (
	"context"
	"hash/fnv"
	"sync"

	"agenthost/agents/internal/lanes"
	"agenthost/session"
)

// A partition of an agent is a Runtime of its own for a part of the agent's sessions: it
// has its settings, its budget and its slots in common with the whole, and a lane that any
// host of the fleet may serve. The whole hands on to it, see division.

// newPartition makes one more partition of r, of n.
func (r *Runtime) newPartition(n int) *Runtime {
	sessions := r.now().Config.Session
	sessions.Max = shareOf(sessions.Max, n)
	p := newRuntime(r.agent, r.slots, r.suspects, sessions)
	p.whole = r
	return p
}

// shareOf is the share of one of n in how many sessions may be in memory.
func shareOf(most *int, n int) *int {
	all := session.DefaultMax
	if most != nil {
		all = *most
	}
	share := (all + n - 1) / max(n, 1) // 0 stays: no bound
	return &share
}

// partitionOf is the number of the partition of n that a session is in; -1: there are
// none, the agent itself works on it.
func partitionOf(key session.Key, n int) int {
	if n == 0 {
		return -1
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(n))
}

// Partitions are those that there are by now.
func (r *Runtime) Partitions() []lanes.Agent {
	d := r.division.Load()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return asAgents(d.partitions)
}

// all are the runtime and its partitions.
func (r *Runtime) all() []*Runtime {
	d := r.division.Load()
	if d == nil {
		return []*Runtime{r}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*Runtime{r}, d.partitions...)
}

// inMemory is a session of the agent, in whichever partition of this host.
func (r *Runtime) inMemory(key session.Key) (*conversation, bool) {
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
