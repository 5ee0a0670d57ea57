package conversation

import (
	"cmp"
	"slices"

	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
	"agenthost/run"
)

// receive queues it and, when the mailbox is full, has it spilled. What comes
// before the log is open stays held: the log decides what has to be done with it.
// It reports whether the queue has it. Called with the lock held.
func (c *Conversation) receive(it *message.Item) bool {
	c.enqueue(c.LastTurn(it), it)
	if c.journal != nil {
		return c.admit(it)
	}
	if c.In(message.Held) > mailboxSize {
		c.spill()
	}
	return true
}

// admit decides where an input stands that is held, now that the log is open.
// While there is room for all, it is only asked at its turn whether it has come
// before. It reports whether the queue still has it. Called with the lock held.
func (c *Conversation) admit(it *message.Item) bool {
	switch {
	case !c.full(it) && !c.logsAtOnce(it):
	case c.repeats(it):
		c.Move(it, message.Repeated)
	case !c.withinRateInOrder(c.journal, it):
		c.takeOut(it)
		return false
	default:
		c.Move(it, message.Spilled)
		c.spill()
	}
	return true
}

// noRoom reports whether the queue has no room for an input that is new. Called
// with the lock held, and the log open.
func (c *Conversation) noRoom(it *message.Item) bool {
	if !c.takesRoom(it) || c.Standing() < c.roomFor(it) || known(c.journal, it) {
		return false
	}
	c.markRepeated()
	return c.Standing() >= c.roomFor(it)
}

// markRepeated moves what has come before to where it takes no room. Called with
// the lock held, and the log open.
func (c *Conversation) markRepeated() {
	for _, it := range c.Queue {
		if c.repeats(it) {
			c.Move(it, message.Repeated)
		}
	}
}

// admitAll is admit for all that came before the log was open. What there is no
// room for is refused. Called with the lock held.
func (c *Conversation) admitAll() {
	if !c.mayAnswerHere(c.journal) {
		for _, it := range slices.Clone(c.Queue) {
			c.turnsAway(c.journal, it)
		}
	}
	c.markRepeated()
	c.takeExcess()
	if slices.ContainsFunc(c.Queue, func(it *message.Item) bool { return c.full(it) || c.logsAtOnce(it) }) {
		c.rateInOrder(c.journal, c.Queue)
	}
	for _, it := range slices.Backward(c.Queue) {
		switch {
		case !c.full(it) && !c.logsAtOnce(it):
		case !c.withinRate(c.journal, it):
			c.takeOut(it)
		default:
			c.Move(it, message.Spilled)
			c.spill()
		}
	}
}

// takeExcess takes what is past the limit of the queue out of it, to be refused.
// What the log has accepted stays. Called with the lock held.
func (c *Conversation) takeExcess() {
	standing := 0
	var came []*message.Item
	excess := map[*message.Item]bool{}
	for _, it := range c.Queue {
		switch {
		case it.Place == message.Repeated:
			continue
		case it.Place == message.Held && c.takesRoom(it) && standing >= c.roomFor(it):
			excess[it] = true
		default:
			standing++
		}
		came = append(came, it)
	}
	if len(excess) == 0 {
		return
	}
	slices.SortStableFunc(came, func(a, b *message.Item) int { return cmp.Compare(a.Input.Seq, b.Input.Seq) })
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
func (c *Conversation) repeats(it *message.Item) bool {
	return it.Place == message.Held && !it.Interjects() && known(c.journal, it)
}

// full reports whether the mailbox has no room for what is held. Orders and
// answers have more: the run under way does not see what is in the log. A run that
// waits for an answer looks at each before it goes there. Called with the lock
// held.
func (c *Conversation) full(it *message.Item) bool {
	most := mailboxSize
	if !c.joinsQueue(it) {
		most = 2 * mailboxSize
	}
	return it.Place == message.Held && !it.Interjects() && !c.suspended && c.In(message.Held) > most
}

// logsAtOnce reports whether it is to go to the log though there is room for it: what is
// paused takes no slot, nor does what waits behind it. A run
// that waits for an answer has it looked at first. Called with the lock held.
func (c *Conversation) logsAtOnce(it *message.Item) bool {
	if it.Place != message.Held || c.suspended {
		return false
	}
	return it.Changes() || c.paused(it, nil) || it.StartsAfresh() && c.paused(c.Queue[0], nil)
}

// room is how many inputs the queue has room for: queue_max behind the run, which
// is one of the queue until it is taken. Called with the lock held.
func (c *Conversation) room() int {
	if c.taken || c.suspended {
		return c.Agent.Now().QueueMax()
	}
	return c.Agent.Now().QueueMax() + 1
}

// roomFor is room with the places that are spare for an input that is for the run under way, or
// for what waits: a full queue does not keep it out. An order to stop has more, so that the others
// do not keep it out either. Called with the lock held.
func (c *Conversation) roomFor(it *message.Item) int {
	switch {
	case c.joinsQueue(it):
		return c.room()
	case it.Stops():
		return c.room() + 2*sparePlaces
	}
	return c.room() + sparePlaces
}

// roomBehind is roomFor behind a run that waits for an answer, of what was no answer to it.
func (c *Conversation) roomBehind(it *message.Item) int {
	room := c.Agent.Now().QueueMax()
	if in := it.Origin.Inbound; it.Changes() || in != nil && in.Priority == "now" {
		room += sparePlaces
	}
	return room
}

// enqueue puts it at a place of the queue. Called with the lock held.
func (c *Conversation) enqueue(at int, it *message.Item) {
	c.Insert(at, it)
	c.watch().Add(it)
}

// pressing reports whether there is anything in the queue for work to do now.
// Called with the lock held.
func (c *Conversation) pressing() bool {
	if c.suspended {
		return c.In(message.Held)+c.In(message.Repeated) > 0
	}
	if c.blocked {
		return false
	}
	return len(c.Queue) > 0 && c.Queue[0].Place != message.Spilling
}

// pop takes the first n inputs off the queue. Called with the lock held.
func (c *Conversation) pop(n int) []*message.Item {
	items := c.RemoveFirst(n)
	if slices.ContainsFunc(items, (*message.Item).Changes) {
		c.watch().Again()
	}
	return items
}

// mergeWaiting queues what the log holds as accepted. Called with the lock held.
func (c *Conversation) mergeWaiting(waiting []run.Input) {
	c.Merge(waiting, func(in run.Input) *message.Item {
		it, err := message.FromLog(in)
		if err != nil {
			c.Log().Error().Err(err).Msg("an input of the log cannot be read; it is passed over")
			return nil
		}
		it.Binding = c.Agent.Now().Binding(in.Subject)
		return it
	})
	c.watch().Again()
}

// forget makes ready for opening the log again, with items in front of the queue. Called
// with the lock held.
func (c *Conversation) forget(items ...*message.Item) {
	if c.journal != nil {
		c.replied = c.journal.Replied()
	}
	c.journal, c.read, c.deleted, c.blocked, c.taken, c.begins, c.refusedFrom = nil, nil, nil, false, false, nil, 0
	c.handled = 0
	c.leaveLogged() // what is settled before it is read again has to come again
	c.Restart(items)
	c.watch().Again()
}

// watch is that of the run under way. Called with the lock held.
func (c *Conversation) watch() *mailbox.Watch {
	if c.current == nil {
		return nil
	}
	return &c.watched
}

// takesRoom reports whether there may be no room for an input. A suspended run may be waiting
// for it: then that is decided when the run looks at it. Called with the lock held.
func (c *Conversation) takesRoom(it *message.Item) bool { return !it.Interjects() && !c.suspended }

// joinsQueue reports whether an input waits for its turn, and for nothing else. Called with the
// lock held.
func (c *Conversation) joinsQueue(it *message.Item) bool {
	in := it.Origin.Inbound
	switch {
	case it.Interjects() || c.suspended:
		return false
	case in == nil:
		return true
	}
	return in.Priority != "now" && in.Answers == "" && !it.Stops() && !it.Changes() && !c.live.Any()
}

// underWay reports whether an input with that id waits here or is being
// answered. Called with the lock held.
func (c *Conversation) underWay(id string) bool {
	return slices.ContainsFunc(c.Queue, func(it *message.Item) bool { return it.Input.ID == id }) || c.inRun(id)
}

// inRun reports whether an input with that id is of the run at work, of one that is about to
// begin, or of one whose last commit is on its way. Called with the lock held.
func (c *Conversation) inRun(id string) bool {
	return slices.ContainsFunc(c.begins, func(it *message.Item) bool { return it.Input.ID == id }) || c.current != nil && c.current.Takes(id) || c.last != nil && c.last.Takes(id)
}

// refuseExcess has an input refused that the queue has no room for. The log notes
// a flood of these by where it begins and ends: for that it has to know whether
// anything else has come in between. Called with the lock held.
func (c *Conversation) refuseExcess(it *message.Item) {
	it.Refusal, it.Since = c.reader().Mistake(it, "too_many_waiting"), 0
	if it.Origin.Inbound != nil {
		it.Since = c.stretch(it)
	}
	c.refusals = append(c.refusals, it)
}

// stretch is where the stretch of refused messages begins that goes on with an input. Called with
// the lock held.
func (c *Conversation) stretch(it *message.Item) (from uint64) {
	if c.refusedFrom == 0 {
		c.refusedFrom = it.Input.Seq
	}
	return c.refusedFrom
}

// takeOut is unqueue with the lock held.
func (c *Conversation) takeOut(it *message.Item) {
	if c.Remove(it) && it.Changes() {
		c.watch().Again()
	}
}
