package agents

import (
	"slices"

	"agenthost/run"
)

// insert queues it and, when the mailbox is full, has it spilled. Called with
// the lock held.
func (c *conversation) insert(it *item) {
	full := c.held >= mailbox && !it.interjects()
	c.enqueue(c.placeOf(it), it)
	if !full {
		return
	}
	c.move(it, spilled)
	if !c.spilling {
		c.spilling = true
		go c.spillAll()
	}
}

// placeOf is where it belongs in the queue: at the end, but before what only the
// log has and came later. Called with the lock held.
func (c *conversation) placeOf(it *item) int {
	at := len(c.queue)
	for at > 0 && !it.interjects() && !it.origin.guest() && c.queue[at-1].onlyLogged() &&
		(c.queue[at-1].origin.guest() || c.queue[at-1].input.Seq > it.input.Seq) {
		at--
	}
	return at
}

// enqueue puts it at a place of the queue. Called with the lock held.
func (c *conversation) enqueue(at int, it *item) {
	c.queue = slices.Insert(c.queue, at, it)
	c.r.queued.Add(1)
	if it.place == held {
		c.held++
	}
}

// move changes the place of an input of the queue. Called with the lock held.
func (c *conversation) move(it *item, to place) {
	if it.place == held {
		c.held--
	}
	if to == held {
		c.held++
	}
	it.place = to
}

// pressing reports whether there is anything in the queue for work to do now.
// Called with the lock held.
func (c *conversation) pressing() bool {
	if c.suspended {
		return slices.ContainsFunc(c.queue, func(it *item) bool { return it.place == held })
	}
	if c.blocked {
		return false
	}
	return len(c.queue) > 0 && c.queue[0].place != spilling
}

// due reports whether nothing that came before it can still come. Called with
// the lock held.
func (c *conversation) due(it *item) bool {
	return !it.onlyLogged() || it.origin.guest() || c.lane == nil || c.lane.Passed(it.input.Seq, nil)
}

// block keeps the queue from being worked on until the first of it is due. It
// reports whether it is not.
func (c *conversation) block() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || c.due(c.queue[0]) {
		return false
	}
	c.blocked = !c.lane.Passed(c.queue[0].input.Seq, c.unblock)
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
	items := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	c.r.queued.Add(-int64(n))
	for _, it := range items {
		if it.place == held {
			c.held--
		}
	}
	return items
}

// mergeWaiting queues what the log holds as accepted, each at its place among
// what was delivered since. One that came again, as its acknowledgement was lost,
// may stand behind what is newer. Called with the lock held.
func (c *conversation) mergeWaiting(waiting []run.Input) {
	for _, in := range waiting {
		var it *item
		if i := slices.IndexFunc(c.queue, func(it *item) bool { return it.input.ID == in.ID }); i >= 0 {
			it = c.queue[i]
			if c.move(it, logged); it.input.Seq != in.Seq { // another message with that id
				continue
			}
			c.takeOut(it)
		} else {
			var err error
			if it, err = loggedItem(in); err != nil {
				c.log().Error().Err(err).Msg("an input of the log cannot be read; it is passed over")
				continue
			}
			it.binding, _ = c.r.takes(in.Subject)
		}
		at := slices.IndexFunc(c.queue, func(other *item) bool {
			return other.input.Seq > in.Seq && other.origin.guest() == it.origin.guest() // else of another stream
		})
		if at < 0 {
			at = len(c.queue)
		}
		c.enqueue(at, it)
	}
}

// forget makes ready for opening the log anew: what only the log holds is
// dropped, what is held is as if it had just come. Called with the lock held.
func (c *conversation) forget() {
	c.journal, c.blocked = nil, false
	c.queue = slices.DeleteFunc(c.queue, func(it *item) bool {
		if it.delivery == nil {
			c.r.queued.Add(-1)
		}
		return it.delivery == nil
	})
	c.held = 0
	for _, it := range c.queue {
		it.place = held
		c.held++
	}
}
