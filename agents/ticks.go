package agents

import (
	"slices"
	"sync"
)

// ticks are the heartbeat ticks of an agent on which nothing is decided yet. That
// takes questions to NATS, which the receive loop must not wait for: a goroutine
// asks them, one tick after the other, and lives while there are any.
type ticks struct {
	mu    sync.Mutex
	queue []*item // in the order they came; the first is being decided
}

// maxTicks is how many wait for a decision: so many come only while NATS does not
// answer.
const maxTicks = 32

// enqueueTick has a tick decided after those that came before it. At the bound the
// newest is left out: an older one may stand for a run that is to be resumed.
func (r *Runtime) enqueueTick(it *item) {
	waiting := r.ticks.add(it)
	switch {
	case waiting > maxTicks:
		r.parts.few.Warn().Str("agent", r.id).Time("due", it.origin.route.Due).Msg("decide heartbeat: too many ticks wait; this one is left out")
		it.delivery.Done()
	case waiting == 1:
		r.busy.Go(func() { r.decideTicks(it) })
	}
}

// add adds a tick, unless maxTicks wait, and returns how many do with it.
func (t *ticks) add(it *item) (waiting int) {
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
func (r *Runtime) decideTicks(first *item) {
	for it := first; it != nil; it = r.nextTick() {
		switch {
		case r.stopping.Load():
			it.delivery.Leave()
		case r.beat(it):
			r.enqueue(it)
		default:
			it.delivery.Done()
		}
	}
}

// nextTick drops the tick that is decided; the next is nil when no other waits.
func (r *Runtime) nextTick() *item {
	r.ticks.mu.Lock()
	defer r.ticks.mu.Unlock()
	r.ticks.queue = slices.Delete(r.ticks.queue, 0, 1)
	if len(r.ticks.queue) == 0 {
		return nil
	}
	return r.ticks.queue[0]
}
