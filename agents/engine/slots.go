package engine

import (
	"slices"
)

// schedule gives c a slot, now or when one is free.
func (r *Runtime) schedule(c *conversation) {
	r.mu.Lock()
	if r.active >= r.now().Config.Limits.Concurrency {
		r.ready = append(r.ready, c)
		r.mu.Unlock()
		return
	}
	r.active++
	r.mu.Unlock()
	r.parts.Workers.Do(func() { r.serve(c) })
}

// serve has c work, and in its slot whoever waits for one.
func (r *Runtime) serve(c *conversation) {
	for ; c != nil; c = r.free() {
		c.work()
	}
}

// free gives the slot of a conversation that has nothing to work on just now to
// the one that has waited longest; nil when none does.
func (r *Runtime) free() *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) == 0 || r.active > r.now().Config.Limits.Concurrency && !r.yields() {
		r.active--
		return nil
	}
	c := r.ready[0]
	r.ready[0] = nil
	r.ready = r.ready[1:]
	return c
}

// useSlots starts the conversations that there is a slot for by now.
func (r *Runtime) useSlots() {
	r.mu.Lock()
	most := r.now().Config.Limits.Concurrency
	n := min(max(most-r.active, 0), len(r.ready))
	begin := slices.Clone(r.ready[:n])
	r.ready = r.ready[n:]
	r.active += n
	r.mu.Unlock()
	for _, c := range begin {
		r.parts.Workers.Do(func() { r.serve(c) })
	}
}

// leaveReady sends off the conversations that wait for a slot: with stopping
// set they only give up what they hold.
func (r *Runtime) leaveReady() {
	r.mu.Lock()
	ready := r.ready
	r.ready = nil
	r.active += len(ready)
	r.mu.Unlock()
	for _, c := range ready {
		r.parts.Workers.Do(func() { r.serve(c) })
	}
}

// leaveBlocked sends off the conversations that wait for older messages.
func (r *Runtime) leaveBlocked() {
	for entry := range r.sessions.All() {
		entry.Value.unblock()
	}
}
