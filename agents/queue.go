package agents

import (
	"cmp"
	"slices"

	"agenthost/run"
)

// receive queues it and, when the mailbox is full, has it spilled. What comes
// before the log is open stays held: the log tells what has to be done with it.
// Called with the lock held.
func (c *conversation) receive(it *item) {
	c.enqueue(c.lastTurn(it), it)
	switch {
	case c.journal != nil:
		c.admit(it)
	case c.count[held] > mailboxSize:
		c.spill()
	}
}

// admit decides where an input stands that is held, now that the log is open.
// While there is room for all, it is only asked at its turn whether it has come
// before. Called with the lock held.
func (c *conversation) admit(it *item) {
	switch {
	case !c.full(it) && !c.logsAtOnce(it):
	case c.repeats(it):
		c.move(it, repeated)
	default:
		c.move(it, spilled)
		c.spill()
	}
}

// noRoom reports whether the queue has no room for an input that is new. Called
// with the lock held, and the log open.
func (c *conversation) noRoom(it *item) bool {
	if c.standing() < c.room() || !c.joinsQueue(it) || known(c.journal, it) {
		return false
	}
	c.markRepeated()
	return c.standing() >= c.room()
}

// markRepeated moves what has come before to where it takes no room. Called with
// the lock held, and the log open.
func (c *conversation) markRepeated() {
	for _, it := range c.queue {
		if c.repeats(it) {
			c.move(it, repeated)
		}
	}
}

// admitAll is admit for all that came before the log was open. What there is no
// room for is refused. Called with the lock held.
func (c *conversation) admitAll() {
	c.markRepeated()
	c.takeExcess()
	for _, it := range slices.Backward(c.queue) {
		if c.full(it) || c.logsAtOnce(it) {
			c.move(it, spilled)
			c.spill()
		}
	}
}

// takeExcess takes what is past the limit of the queue out of it, to be refused.
// What the log has accepted stays. Called with the lock held.
func (c *conversation) takeExcess() {
	limit, standing := c.room(), 0
	var came []*item
	excess := map[*item]bool{}
	for _, it := range c.queue {
		switch {
		case it.place == repeated:
			continue
		case standing >= limit && it.place == held && c.joinsQueue(it):
			excess[it] = true
		default:
			standing++
		}
		came = append(came, it)
	}
	if len(excess) == 0 {
		return
	}
	slices.SortStableFunc(came, func(a, b *item) int { return cmp.Compare(a.input.Seq, b.input.Seq) })
	for _, it := range came {
		if excess[it] {
			c.takeOut(it)
			c.refuseExcess(it)
		} else {
			c.refusedFrom = 0
		}
	}
}

// repeats reports whether the log has what is held, or another message with its
// id. Called with the lock held.
func (c *conversation) repeats(it *item) bool {
	return it.place == held && !it.interjects() && known(c.journal, it)
}

// full reports whether the mailbox has no room for what is held. Orders and
// answers have more: the run under way does not see what is in the log. A run that
// waits for an answer looks at each before it goes there. Called with the lock
// held.
func (c *conversation) full(it *item) bool {
	most := mailboxSize
	if !c.joinsQueue(it) {
		most = 2 * mailboxSize
	}
	return it.place == held && !it.interjects() && !c.suspended && c.count[held] > most
}

// logsAtOnce reports whether it is to go to the log though there is room for it. A run
// that waits for an answer has it looked at first. Called with the lock held.
func (c *conversation) logsAtOnce(it *item) bool {
	return it.place == held && it.changes() && !c.suspended
}

// room is how many inputs the queue has room for: queue_max behind the run, which
// is one of the queue until it is taken. Called with the lock held.
func (c *conversation) room() int {
	if c.taken || c.suspended {
		return c.r.backlog()
	}
	return c.r.backlog() + 1
}

// enqueue puts it at a place of the queue. Called with the lock held.
func (c *conversation) enqueue(at int, it *item) {
	c.insert(at, it)
	c.watch().add(it)
}

// pressing reports whether there is anything in the queue for work to do now.
// Called with the lock held.
func (c *conversation) pressing() bool {
	if c.suspended {
		return c.count[held]+c.count[repeated] > 0
	}
	if c.blocked {
		return false
	}
	return len(c.queue) > 0 && c.queue[0].place != spilling
}

// due reports whether nothing that came before it can still come. If something
// can, then is called once that has come; nil asks only. Called with the lock
// held.
func (c *conversation) due(it *item, then func()) bool {
	if !it.inherited || !it.onlyLogged() || it.origin.guest() || c.lane == nil {
		return true
	}
	if c.lane.Passed(it.input.Seq, then) && then != nil {
		c.r.afterInbox(c.disinherit())
	}
	return false
}

// disinherit returns what to call when all that the lane has handed out by now has
// left the agent's inbox: then nothing older than what it has passed can come.
// Called with the lock held.
func (c *conversation) disinherit() func() {
	var passed []*item
	for _, it := range c.queue {
		if it.inherited && c.lane.Passed(it.input.Seq, nil) {
			passed = append(passed, it)
		}
	}
	return func() {
		c.mu.Lock()
		for _, it := range passed {
			it.inherited = false
		}
		c.mu.Unlock()
		c.unblock()
	}
}

// block keeps the queue from being worked on until the first of it is due. It
// reports whether it is not.
func (c *conversation) block() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocked = len(c.queue) > 0 && !c.due(c.queue[0], c.unblock)
	return c.blocked
}

func (c *conversation) unblock() {
	c.mu.Lock()
	c.blocked = false
	c.wake(0)
	c.mu.Unlock()
}

// pop takes the first n inputs off the queue. Called with the lock held.
func (c *conversation) pop(n int) []*item {
	items := c.removeFirst(n)
	if slices.ContainsFunc(items, (*item).changes) {
		c.watch().again()
	}
	return items
}

// mergeWaiting queues what the log holds as accepted. Called with the lock held.
func (c *conversation) mergeWaiting(waiting []run.Input) {
	c.merge(waiting, func(in run.Input) *item {
		it, err := loggedItem(in)
		if err != nil {
			c.log().Error().Err(err).Msg("an input of the log cannot be read; it is passed over")
			return nil
		}
		it.binding, _ = c.r.takes(in.Subject)
		return it
	})
	c.watch().again()
}

// forget makes ready for opening the log again, with items in front of the queue. Called
// with the lock held.
func (c *conversation) forget(items ...*item) {
	c.journal, c.blocked, c.taken, c.refusedFrom = nil, false, false, 0
	c.restart(items)
	c.watch().again()
}
