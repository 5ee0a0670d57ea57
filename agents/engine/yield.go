package engine

import (
	"slices"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/message"
	"agenthost/session"
)

// Yield has the agent begin nothing more, as its lane goes to another host. Runs in
// progress go on to their end; what is not begun stays unacknowledged.
func (r *Runtime) Yield() {
	r.yielding.Store(true)
	if d := r.division.Load(); d != nil {
		d.wake()
	}
	r.leaveReady()
	r.leaveBlocked()
	r.dismissSuspects()
	for entry := range r.sessions.All() {
		entry.Value.dismissAsks()
	}
}

// Resume has the agent begin what comes, as this host serves its lane again. Where
// another host has served it meanwhile, logs that are open are read again.
func (r *Runtime) Resume(another bool) {
	if another {
		r.owners.Add(1)
		if d := r.division.Load(); d != nil {
			d.forget()
		}
	}
	r.yielding.Store(false)
}

// Unfinished are the keys of the sessions in which there is still something to do.
func (r *Runtime) Unfinished() (keys []string) {
	if r.sessions.InFlight() == 0 {
		return nil
	}
	for entry := range r.sessions.All() {
		c := entry.Value
		c.mu.Lock()
		if c.entry != nil {
			keys = append(keys, string(c.Key))
		}
		c.mu.Unlock()
	}
	return keys
}

// Asks reports whether a running tool waits for the answer to its question: only this host
// can pass it on.
func (r *Runtime) Asks() bool {
	if r.sessions.InFlight() == 0 {
		return false
	}
	for entry := range r.sessions.All() {
		c := entry.Value
		c.mu.Lock()
		asks := len(c.live) > 0
		c.mu.Unlock()
		if asks {
			return true
		}
	}
	return false
}

// dismissAsks tells tools that wait for an answer that none will come: it would come to
// another host.
func (c *conversation) dismissAsks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, question := range c.live {
		question.dismiss()
	}
}

// yields reports whether nothing is to begin.
func (r *Runtime) yields() bool { return r.stopping.Load() || r.yielding.Load() }

// awaitsFormer reports whether the host that served the lane before is still at work in
// the session. Then nothing begins here until that has ended, but for what is to stop it:
// that cannot reach it, and so the run goes on here.
func (c *conversation) awaitsFormer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.Queue, c.breaksIn) || !c.r.parts.Finishing.Holds(c.r.id, string(c.Key), c, c.unblock) {
		return false
	}
	c.running, c.blocked = false, true
	return true
}

// breaksIn reports whether an input is to stop the run that is under way when it comes.
// What has come to the host before has done so there. Called with the lock held.
func (c *conversation) breaksIn(it *message.Item) bool {
	return !it.Tried && (it.Stops() || answers.OperatorOrder(it) != "" || c.mode(it) == session.Interrupt)
}
