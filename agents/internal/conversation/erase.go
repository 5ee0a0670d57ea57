package conversation

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/runner"
	"agenthost/bus/delivery"
)

// What a person has sent who is erased is dropped here: its message is acknowledged, nothing
// is answered, and the run that works on it ends without a commit. What the log has is not this
// host's to delete: the erasure does that.

func (c *Conversation) isErasedItem(it *message.Item) bool { return c.IsErased(it.Origin, it.Input) }

// Erase drops what came from a person who is erased by now, and has the run end that works
// on it.
func (c *Conversation) Erase() {
	c.mu.Lock()
	gone := c.takeErased()
	for _, t := range []*runner.Runner{c.current, c.last} {
		if t != nil && t.WorksOnErased() {
			t.Journal.Break(runner.ErrErased)
			c.runs.Poke()
		}
	}
	c.mu.Unlock()
	endAll(gone)
	c.rest()
}

// Erased reports whether nothing of such a person is on its way to a stream any more.
func (c *Conversation) Erased() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ending := c.over && c.last != nil && !c.last.Stored.Load() // its commit, or its replies, may still come
	atWork := c.current != nil && c.current.WorksOnErased()
	return !c.spilling && !c.refusing && !c.out.Sending() && !ending && !atWork
}

// takeErased takes out of the queue, and of what is to be refused, what the host has to forget.
// What is on its way to the log stays until it is there. Called with the lock held.
func (c *Conversation) takeErased() []*delivery.Delivery {
	if !c.Agent.Parts.Erasures.Any() {
		return nil
	}
	var gone []*message.Item
	for _, it := range slices.Clone(c.Queue) {
		if it.Place != message.Spilling && c.isErasedItem(it) {
			c.takeOut(it)
			gone = append(gone, it)
		}
	}
	c.refusals = slices.DeleteFunc(c.refusals, func(it *message.Item) bool {
		erased := c.isErasedItem(it)
		if erased {
			gone = append(gone, it)
		}
		return erased
	})
	if len(c.Queue) == 0 && c.timer != nil && c.timer.Stop() { // there is no run to wait for any more
		c.timer = nil
	}
	return message.DeliveriesOf(gone)
}

func endAll(deliveries []*delivery.Delivery) {
	for _, d := range deliveries {
		d.Done()
	}
}
