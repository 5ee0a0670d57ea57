package conversation

import (
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/session"
)

// A spillState is what is on its way from the queue to the log.
type spillState struct {
	spilling bool // spillAll is at work
	toReread bool // reread waits for its end
	// anchor stays unacknowledged while the log holds inputs without a message
	// of their own, so that a takeover finds them.
	anchor *delivery.Delivery
	// runsLogged says that the run at work has inputs that were in the log, without a message
	// of their own.
	runsLogged bool
	// leftLogged says that such inputs were left to the next owner, or to the next look at the log,
	// until it is opened.
	leftLogged bool
}

// spillAll accepts what the mailbox has no room for into the log, all that has
// come together in one commit, and lets its messages go. Only the first is kept
// as the anchor.
func (c *Conversation) spillAll() {
	journal, err := c.open()
	if err == nil {
		err = c.leaveOutDeleted(journal)
	}
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
	journal.Add(c.Agent.Work, events, func(err error) { c.endSpill(batch, err) })
}

// spillBatch is all that is spilled by now.
func (c *Conversation) spillBatch(journal *session.Log) (batch []*message.Item) {
	ids := map[string]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range c.Queue {
		if it.Place != message.Spilled {
			ids[it.Input.ID] = true // one that comes again keeps the turn that it has
			continue
		}
		if ids[it.Input.ID] || known(journal, it) || c.inRun(it.Input.ID) {
			c.Move(it, message.Repeated)
			continue
		}
		ids[it.Input.ID] = true
		c.Move(it, message.Spilling)
		batch = append(batch, it)
	}
	return batch
}

// screenBatch has the before_message hooks see a batch, and returns the commit
// that accepts what they leave of it. What they refuse is answered at once.
func (c *Conversation) screenBatch(journal *session.Log, batch []*message.Item) (left []*message.Item, events []run.Event) {
	now := time.Now().UTC().Round(0)
	for _, it := range batch {
		s := c.Screen(c.Agent.Work, it, "")
		if s != nil && s.Refused != "" {
			c.refuse(journal, it, inflight.RefusedByHook(s.Refused))
			continue
		}
		input := it.Input
		if s != nil {
			input.Envelope, input.Checked, input.Hooks = s.Envelope, true, s.Hooks
		}
		left = append(left, it)
		events = append(events, run.Event{Type: run.InputAdded, At: now, Input: &input})
	}
	return left, events
}

// endSpill ends a commit of spillAll and begins the next if there is more.
func (c *Conversation) endSpill(batch []*message.Item, err error) {
	crash.Point("after-spill")
	broke := err != nil && len(batch) > 0
	c.mu.Lock()
	acked := c.spillEnded(batch, err == nil)
	c.spilling, c.blocked = false, false
	if err == nil && c.In(message.Spilled) > 0 {
		c.spill()
	}
	if c.timer == nil && !broke { // else it waits for more
		c.wake(0)
	}
	reread := c.toReread
	c.toReread = false
	c.mu.Unlock()
	for _, d := range acked {
		d.Done()
	}
	switch {
	case broke && reread: // nothing else is at work
		c.brokeOff(nil, err)
	case broke:
		c.brokeBeside(err)
	case reread:
		c.reread()
	default:
		c.rest()
	}
}

// spill has what is spilled written to the log. Called with the lock held.
func (c *Conversation) spill() {
	if !c.spilling {
		c.spilling = true
		c.shared.Busy.Go(c.spillAll)
	}
}

// spillEnded puts a batch where it is now, and returns the messages that the log
// stands for. What was forgotten meanwhile is left alone: the log is opened again
// and has it, or not. Called with the lock held.
func (c *Conversation) spillEnded(batch []*message.Item, stored bool) (acked []*delivery.Delivery) {
	for _, it := range batch {
		switch {
		case it.Place != message.Spilling:
			continue
		case !stored:
			c.Move(it, message.Held)
			c.watch().Again()
			continue
		}
		c.Move(it, message.Logged)
		it.Use(it.Screened.Load())
		if c.anchor == nil && !c.suspended {
			c.anchor = it.Delivery
		} else if it.Delivery != nil {
			acked = append(acked, it.Delivery)
		}
		it.Delivery = nil
	}
	return acked
}
