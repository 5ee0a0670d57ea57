package agents

import (
	"time"

	"agenthost/agents/internal/crash"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// spill has what is spilled written to the log. Called with the lock held.
func (c *conversation) spill() {
	if !c.spilling {
		c.spilling = true
		c.r.busy.Go(c.spillAll)
	}
}

// spillAll accepts what the mailbox has no room for into the log, all that has
// come together in one commit, and lets its messages go. Only the first is kept
// as the anchor.
func (c *conversation) spillAll() {
	journal, err := c.open()
	if err != nil {
		c.endSpill(nil, err)
		return
	}
	batch := c.spillBatch(journal)
	if len(batch) == 0 {
		c.endSpill(nil, nil)
		return
	}
	batch, events := c.screenBatch(journal, batch)
	if len(batch) == 0 {
		c.endSpill(nil, nil)
		return
	}
	crash.Point("before-spill")
	journal.Add(c.r.work, events, func(err error) { c.endSpill(batch, err) })
}

// spillBatch is all that is spilled by now.
func (c *conversation) spillBatch(journal *session.Log) (batch []*item) {
	ids := map[string]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range c.queue {
		if it.place != spilled {
			continue
		}
		if ids[it.input.ID] || known(journal, it) {
			c.move(it, repeated)
			continue
		}
		ids[it.input.ID] = true
		c.move(it, spilling)
		batch = append(batch, it)
	}
	return batch
}

// screenBatch has the before_message hooks see a batch, and returns the commit
// that accepts what they leave of it. What they refuse is answered at once.
func (c *conversation) screenBatch(journal *session.Log, batch []*item) (left []*item, events []run.Event) {
	now := time.Now().UTC().Round(0)
	for _, it := range batch {
		s := c.screen(c.r.work, it, "")
		if s != nil && s.refused != "" {
			c.refuse(journal, it, refusedByHook(s.refused))
			continue
		}
		input := it.input
		if s != nil {
			input.Envelope, input.Checked = s.envelope, true
		}
		left = append(left, it)
		events = append(events, run.Event{Type: run.InputAdded, At: now, Input: &input})
	}
	return left, events
}

// endSpill ends a commit of spillAll and begins the next if there is more.
func (c *conversation) endSpill(batch []*item, err error) {
	crash.Point("after-spill")
	broke := err != nil && len(batch) > 0
	c.mu.Lock()
	acked := c.spillEnded(batch, err == nil)
	c.spilling, c.blocked = false, false
	if err == nil && c.count[spilled] > 0 {
		c.spill()
	}
	if c.timer == nil && !broke { // else it waits for more
		c.wake(0)
	}
	c.mu.Unlock()
	for _, d := range acked {
		d.Done()
	}
	if broke {
		c.brokeBeside(err)
		return
	}
	c.rest()
}

// spillEnded puts a batch where it is now, and returns the messages that the log
// stands for. What was forgotten meanwhile is left alone: the log is opened again
// and tells. Called with the lock held.
func (c *conversation) spillEnded(batch []*item, stored bool) (acked []*delivery.Delivery) {
	for _, it := range batch {
		switch {
		case it.place != spilling:
			continue
		case !stored:
			c.move(it, held)
			c.watch().again()
			continue
		}
		c.move(it, logged)
		it.use(it.screened.Load())
		if c.anchor == nil && !c.suspended {
			c.anchor = it.delivery
		} else if it.delivery != nil {
			acked = append(acked, it.delivery)
		}
		it.delivery = nil
	}
	return acked
}
