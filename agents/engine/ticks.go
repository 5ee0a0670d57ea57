package engine

import (
	"slices"
	"sync"

	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/message"
)

// beat decides whether a tick begins a run, which may take seconds. A tick on which nothing
// can be decided is left out: the next is not far.
func (r *Runtime) beat(it *message.Item) bool {
	due := it.Origin.Route.Due
	first, begins, err := r.parts.Beat(r.agent.Work, r.id, due, it.Tried, r.beating())
	if err != nil {
		r.agent.Log().Warn().Err(err).Msg("decide heartbeat: failed; this tick is left out")
		return false
	}
	if first && r.parts.OnHeartbeat != nil {
		r.shared.Busy.Go(func() { r.parts.OnHeartbeat(r.agent.Work, r.id, due) })
	}
	if b := r.now().Behavior; first && b != nil {
		r.shared.Busy.Go(func() { behaviors.OnHeartbeat(r.agent, b, due) })
	}
	return begins
}

// beating reports whether the run of an earlier tick is not over.
func (r *Runtime) beating() bool {
	entry, ok := r.sessions.Get(message.HeartbeatKey)
	return ok && entry.Value.AtWork()
}

// ticks are the heartbeat ticks of an agent on which nothing is decided yet. That
// takes questions to NATS, which the receive loop must not wait for: a goroutine
// asks them, one tick after the other, and lives while there are any.
type ticks struct {
	mu    sync.Mutex
	queue []*message.Item // in the order they came; the first is being decided
}

// maxTicks is how many wait for a decision: so many come only while NATS does not
// answer.
const maxTicks = 32

// enqueueTick has a tick decided after those that came before it. At the bound the
// newest is left out: an older one may stand for a run that is to be resumed.
func (r *Runtime) enqueueTick(it *message.Item) {
	waiting := r.ticks.add(it)
	switch {
	case waiting > maxTicks:
		r.parts.Few.Warn().Str("agent", r.id).Time("due", it.Origin.Route.Due).Msg("decide heartbeat: too many ticks wait; this one is left out")
		it.Delivery.Done()
	case waiting == 1:
		r.shared.Busy.Go(func() { r.decideTicks(it) })
	}
}

// add adds a tick, unless maxTicks wait, and returns how many do with it.
func (t *ticks) add(it *message.Item) (waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) < maxTicks {
		t.queue = append(t.queue, it)
		return len(t.queue)
	}
	return len(t.queue) + 1
}

// decideTicks decides on first and those after it, until no tick waits. A host that
// stops leaves them to the next owner.
func (r *Runtime) decideTicks(first *message.Item) {
	for it := first; it != nil; it = r.nextTick() {
		switch {
		case r.shared.Yields():
			it.Delivery.Leave()
		case r.beat(it):
			r.enqueue(it)
		default:
			it.Delivery.Done()
		}
	}
}

// nextTick drops the tick that is decided; the next is nil when no other waits.
func (r *Runtime) nextTick() *message.Item {
	r.ticks.mu.Lock()
	defer r.ticks.mu.Unlock()
	r.ticks.queue = slices.Delete(r.ticks.queue, 0, 1)
	if len(r.ticks.queue) == 0 {
		return nil
	}
	return r.ticks.queue[0]
}
