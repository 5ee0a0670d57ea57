package engine

import (
	"slices"
	"sync"

	"agenthost/agents/internal/conversation"
)

// slots are those of an agent: how many of its conversations work at a time on this host,
// whichever of its partitions they are in.
type slots struct {
	mu     sync.Mutex
	active int                          // conversations that hold a slot
	ready  []*conversation.Conversation // those that wait for one
}

// inUse is how many are held.
func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Schedule gives c a slot, now or when one is free.
func (r *Runtime) Schedule(c *conversation.Conversation) {
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

// serve runs c, and then in the same slot those that wait for one.
func (r *Runtime) serve(c *conversation.Conversation) {
	for ; c != nil; c = r.free() {
		c.Work()
	}
}

// free gives the slot of a conversation that has nothing to work on just now to
// the one that has waited longest; nil when none does.
func (r *Runtime) free() *conversation.Conversation {
	s := r.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 || s.active > r.now().Config.Limits.Concurrency && !s.ready[0].Yields() {
		s.active--
		return nil
	}
	c := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	return c
}

// useSlots starts the conversations that there are slots for since a change of settings.
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
	var own []*conversation.Conversation
	s.ready = slices.DeleteFunc(s.ready, func(c *conversation.Conversation) bool {
		if c.Of(&r.shared) {
			own = append(own, c)
		}
		return c.Of(&r.shared)
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
		entry.Value.Unblock()
	}
}
