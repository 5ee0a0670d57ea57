package engine

import (
	"slices"
	"sync"
)

// slots are those of an agent: how many of its conversations work at a time on this host,
// whichever of its partitions they are in.
type slots struct {
	mu     sync.Mutex
	active int             // conversations that hold a slot
	ready  []*conversation // those that wait for one
}

// inUse is how many are held.
func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// schedule gives c a slot, now or when one is free.
func (r *Runtime) schedule(c *conversation) {
	s := r.slots
	s.mu.Lock()
	if s.active >= r.now().Config.Limits.Concurrency {
		s.ready = append(s.ready, c)
		s.mu.Unlock()
		return
	}
	s.active++
	s.mu.Unlock()
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
	s := r.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 || s.active > r.now().Config.Limits.Concurrency && !s.ready[0].r.yields() {
		s.active--
		return nil
	}
	c := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	return c
}

// useSlots starts the conversations that there is a slot for by now.
func (r *Runtime) useSlots() {
	s := r.slots
	s.mu.Lock()
	most := r.now().Config.Limits.Concurrency
	n := min(max(most-s.active, 0), len(s.ready))
	begin := slices.Clone(s.ready[:n])
	s.ready = s.ready[n:]
	s.active += n
	s.mu.Unlock()
	for _, c := range begin {
		r.parts.Workers.Do(func() { r.serve(c) })
	}
}

// leaveReady sends off the conversations that wait for a slot: with stopping
// set they only give up what they hold.
func (r *Runtime) leaveReady() {
	s := r.slots
	s.mu.Lock()
	var own []*conversation
	s.ready = slices.DeleteFunc(s.ready, func(c *conversation) bool {
		if c.r == r {
			own = append(own, c)
		}
		return c.r == r
	})
	s.active += len(own)
	s.mu.Unlock()
	for _, c := range own {
		r.parts.Workers.Do(func() { r.serve(c) })
	}
}

// leaveBlocked sends off the conversations that wait for older messages.
func (r *Runtime) leaveBlocked() {
	for entry := range r.sessions.All() {
		entry.Value.unblock()
	}
}
