package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
)

// awaitsFormer reports whether the host that served the lane before is still at work in
// the session. Then nothing begins here until that has ended, but for what is to stop it:
// that cannot reach it, and so the run goes on here.
func (c *Conversation) awaitsFormer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, key, finishing := c.Agent.ID, string(c.Key), c.Agent.Parts.Finishing
	if !finishing.Has(id, key) { // as a rule, and then the queue need not be read
		return false
	}
	if slices.ContainsFunc(c.Queue, c.breaksIn) || !finishing.Holds(id, key, c, c.Unblock) {
		return false
	}
	c.running, c.blocked = false, true
	return true
}

// block keeps the queue from being worked on until the first of it is due. It
// reports whether it is not.
func (c *Conversation) block() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passDelayed()
	c.blocked = len(c.Queue) > 0 && !c.due(c.Queue[0], c.Unblock)
	return c.blocked
}

// passDelayed moves an order or an answer before what waits for the rate of its
// sender, or is paused: those do not count for it. Called with the lock held.
func (c *Conversation) passDelayed() {
	if len(c.Queue) < 2 || !c.Queue[0].NotBefore.After(time.Now()) && !c.paused(c.Queue[0], nil) {
		return
	}
	i := slices.IndexFunc(c.Queue, func(it *message.Item) bool { return c.alone(it) && it.Place != message.Spilling })
	if i > 0 {
		c.Shift(i, 0)
	}
}

// Unblock has the conversation look again at what it waited for.
func (c *Conversation) Unblock() {
	c.mu.Lock()
	c.blocked = false
	c.wake(0)
	c.mu.Unlock()
}
