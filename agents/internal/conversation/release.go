package conversation

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// proceed goes on after a run has ended: with the next run, or with rest.
func (c *Conversation) proceed() {
	c.mu.Lock()
	c.fences = 0
	c.mu.Unlock()
	c.idle()
}

// idle notes that no run is at work any more, and begins the next if there is
// one. A log that has refused a commit beside the run is opened again first.
func (c *Conversation) idle() {
	c.mu.Lock()
	if c.journal != nil && c.journal.Err() != nil {
		c.mu.Unlock()
		c.again(nil, true)
		return
	}
	c.running, c.taken, c.runsLogged, c.begins, c.last = false, false, false, nil, nil
	c.wake(0)
	c.mu.Unlock()
	c.rest()
}

// rest lets go of the conversation when there is nothing left to do in it. One that waits
// for a person, who may take days, keeps nothing in memory.
func (c *Conversation) rest() {
	c.mu.Lock()
	if c.entry == nil || c.running || c.spilling || c.refusing || len(c.refusals) > 0 || c.out.Sending() || c.timer != nil || c.pressing() || !c.suspended && len(c.Queue) > 0 {
		c.mu.Unlock()
		return
	}
	if c.suspended {
		read := c.journal
		c.forget()
		c.suspended = false
		if awaitsAgents(read) {
			c.read = read
		}
	}
	entry, anchor := c.entry, c.anchor
	c.entry, c.anchor = nil, nil
	c.mu.Unlock()
	if anchor != nil {
		anchor.Done()
	}
	entry.Release()
	c.shared.Busy.Done()
}

// awaitsAgents reports whether the run under way waits for other agents alone. Those answer
// soon as a rule.
func awaitsAgents(journal *session.Log) bool {
	agents := false
	if journal != nil {
		journal.View(func(state run.State) {
			agents = state.Run != nil && !slices.ContainsFunc(state.Run.Open(), func(call run.Call) bool { return call.Asked != run.ForDelegate })
		})
	}
	return agents
}

// settle ends the deliveries of inputs whose replies are stored. While the log
// holds inputs that no message stands for, or a run works on such, one stays as the anchor: the
// last, so that what was answered long ago does not come again after a takeover. Where they
// were left to the next owner meanwhile, so is the anchor.
func (c *Conversation) settle(deliveries []*delivery.Delivery) {
	c.mu.Lock()
	var left *delivery.Delivery
	switch last := len(deliveries) - 1; {
	case last < 0 || c.suspended:
	case c.In(message.Logged) > 0 || c.runsLogged:
		before := c.anchor
		c.anchor, deliveries = deliveries[last], deliveries[:last]
		if before != nil {
			deliveries = append(deliveries, before)
		}
	case c.leftLogged:
		left, deliveries = deliveries[last], deliveries[:last]
	}
	c.mu.Unlock()
	if left != nil {
		left.Leave()
	}
	for _, d := range deliveries {
		d.Done()
	}
}

// leave gives up everything that is not begun: it stays unacknowledged.
func (c *Conversation) leave() {
	c.mu.Lock()
	if c.timer != nil && c.timer.Stop() {
		c.timer = nil
	}
	ready := len(c.Queue)
	for i, it := range c.Queue {
		if it.Place == message.Spilling { // the end of its commit decides on it
			ready = i
			break
		}
	}
	c.leaveLogged()
	items, anchor := append(c.pop(ready), c.refusals...), c.anchor
	c.anchor, c.running, c.taken, c.begins, c.journal, c.refusals = nil, false, false, nil, nil, nil
	c.mu.Unlock()
	if anchor != nil {
		anchor.Leave()
	}
	message.LeaveAll(message.DeliveriesOf(items))
	c.rest()
}

// leaveLogged notes that what only the log stands for is left to the next that opens it. Called
// with the lock held.
func (c *Conversation) leaveLogged() {
	c.leftLogged = c.leftLogged || c.runsLogged || c.In(message.Logged) > 0
	c.runsLogged = false
}

// leaveLost gives up what came by lanes that this host has lost since, while no log is open.
// What has come again, as it has such a lane again, stays. Where nothing does, it gives up
// everything, and reports that.
func (c *Conversation) leaveLost() (all bool) {
	c.mu.Lock()
	for _, it := range slices.Clone(c.Queue) {
		if it.Delivery != nil && it.Place != message.Spilling && it.Delivery.LeaveIfLost() {
			c.takeOut(it)
		}
	}
	c.refusals = slices.DeleteFunc(c.refusals, func(it *message.Item) bool {
		return it.Delivery != nil && it.Delivery.LeaveIfLost()
	})
	if c.anchor != nil && c.anchor.LeaveIfLost() {
		c.anchor = nil
	}
	all = len(c.deliveries()) == 0
	c.mu.Unlock()
	if all {
		c.leave()
	}
	return all
}

// heldItems are the inputs of the queue whose messages are held, and the messages that
// the log stands for. Called with the lock held.
func (c *Conversation) heldItems() (list []*message.Item, settled []*delivery.Delivery) {
	for _, it := range c.Queue {
		switch {
		case it.Place == message.Held, it.Place == message.Repeated:
			list = append(list, it)
		case it.Place == message.Logged && it.Delivery != nil:
			settled = append(settled, it.Delivery)
			it.Delivery = nil
		}
	}
	return list, settled
}
