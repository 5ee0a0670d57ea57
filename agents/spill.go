package agents

import (
	"time"

	"agenthost/bus"
	"agenthost/run"
)

// spillAll accepts what the mailbox has no room for into the log, all that has
// come together in one commit, and lets its messages go. Only the first is kept
// as the anchor.
func (c *conversation) spillAll() {
	journal, err := c.open()
	if err != nil {
		c.endSpill(nil, err)
		return
	}
	var events []run.Event
	var batch []*item
	now := time.Now().UTC().Round(0)
	c.mu.Lock()
	for _, it := range c.queue {
		if it.place != spilled {
			continue
		}
		if _, seen := journal.Seen(it.input.ID); seen { // its turn in the queue tells
			c.move(it, held)
			continue
		}
		c.move(it, spilling)
		batch = append(batch, it)
		events = append(events, run.Event{Type: run.InputAdded, At: now, Input: &it.input})
	}
	c.mu.Unlock()
	if len(batch) == 0 {
		c.endSpill(nil, nil)
		return
	}
	crashpoint("before-spill")
	journal.Add(c.r.work, events, func(err error) { c.endSpill(batch, err) })
}

// endSpill ends a commit of spillAll and begins the next if there is more.
func (c *conversation) endSpill(batch []*item, err error) {
	crashpoint("after-spill")
	var acked []*bus.Delivery
	c.mu.Lock()
	for _, it := range batch {
		if err != nil {
			c.move(it, held)
			continue
		}
		c.move(it, logged)
		if c.anchor == nil && !c.suspended {
			c.anchor = it.delivery
		} else if it.delivery != nil {
			acked = append(acked, it.delivery)
		}
		it.delivery = nil
	}
	c.spilling = err == nil && c.overflows()
	if c.spilling {
		go c.spillAll()
	}
	if c.timer == nil { // else it waits for more
		c.wake(0)
	}
	c.mu.Unlock()
	for _, d := range acked {
		d.Done()
	}
	c.rest()
}

// onTheirWay is how many inputs of the queue go to the log and are not in it yet.
// Called with the lock held.
func (c *conversation) onTheirWay() int {
	n := 0
	for _, it := range c.queue {
		if it.place == spilled || it.place == spilling {
			n++
		}
	}
	return n
}

// overflows reports whether something is to be spilled. Called with the lock
// held.
func (c *conversation) overflows() bool {
	for _, it := range c.queue {
		if it.place == spilled {
			return true
		}
	}
	return false
}
