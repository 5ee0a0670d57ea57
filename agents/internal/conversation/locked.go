package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"
)

// What is called with the lock of a conversation held stands here, in queue.go and in
// changes.go, and nothing else does.

// joinsQueue reports whether an input waits for its turn, for which there may be no room. A
// suspended run may be waiting for it: then that is decided when the run looks at it. Called with the lock held.
func (c *Conversation) joinsQueue(it *message.Item) bool {
	in := it.Origin.Inbound
	switch {
	case it.Interjects() || c.suspended:
		return false
	case in == nil:
		return true
	}
	return in.Priority != "now" && in.Answers == "" && !it.Stops() && !it.Changes() && len(c.live) == 0
}

// underWay reports whether an input with that id waits here or is being
// answered. Called with the lock held.
func (c *Conversation) underWay(id string) bool {
	return slices.ContainsFunc(c.Queue, func(it *message.Item) bool { return it.Input.ID == id }) || c.inRun(id)
}

// inRun reports whether an input with that id is of the run at work, or of one whose
// last commit is on its way. Called with the lock held.
func (c *Conversation) inRun(id string) bool {
	return c.current != nil && c.current.Takes(id) || c.last != nil && c.last.Takes(id)
}

// ended reports whether it has come again, has its end, and its replies were sent again
// already: then it need not wait for its turn. Called with the
// lock held.
func (c *Conversation) ended(it *message.Item) bool {
	if c.caughtUp.Last == 0 || c.journal == nil || it.Interjects() {
		return false
	}
	seq, _ := it.Seen(c.journal)
	return c.caughtUp.Has(seq)
}

// collect begins a run, now or when no more comes, but not later than debounce_max
// after the first. Called with the lock held.
func (c *Conversation) collect(it *message.Item) {
	wait := c.debounce(it)
	switch most := it.DebounceMax(c.Agent.Now().Config.Session); {
	case wait == 0 || most == 0:
		c.latest = time.Time{}
	case c.timer == nil:
		c.latest = time.Now().Add(most)
	}
	if !c.latest.IsZero() {
		wait = max(min(wait, time.Until(c.latest)), 1)
	}
	c.wake(wait)
}

// wake begins a run if none is at work. With a wait it begins that long after the
// last input. Called with the lock held.
func (c *Conversation) wake(wait time.Duration) {
	switch {
	case c.running || !c.pressing():
	case c.timer != nil:
		c.timer.Reset(wait)
	case wait > 0 && !c.shared.Yields():
		c.timer = time.AfterFunc(wait, c.ripe)
	default:
		c.running, c.began, c.over = true, time.Now(), false
		c.shared.Schedule(c)
	}
}

// answersLive gives it to the question of a tool that it answers, and reports
// whether it answers one. Called with the lock held.
func (c *Conversation) answersLive(it *message.Item) bool {
	for _, question := range c.live {
		text, ok := question.answeredBy(c.Book(it), it, len(c.live) == 1)
		if !ok {
			continue
		}
		if it.Origin.Inbound != nil && len(question.call.Options) == 0 && c.Hooked(hooks.BeforeMessage) {
			c.shared.Busy.Go(func() { c.passScreened(question, it) })
			return true
		}
		select {
		case question.answer <- text:
			return true
		default: // the first answer counts
		}
	}
	return false
}

// refuseExcess has an input refused that the queue has no room for. The log notes
// a flood of these by where it begins and ends: for that it has to know whether
// anything else has come in between. Called with the lock held.
func (c *Conversation) refuseExcess(it *message.Item) {
	it.Refusal, it.Since = c.reader().Mistake(it, "too_many_waiting"), 0
	if it.Origin.Inbound != nil {
		if c.refusedFrom == 0 {
			c.refusedFrom = it.Input.Seq
		}
		it.Since = c.refusedFrom
	}
	c.refusals = append(c.refusals, it)
}

// noteTried notes of what is held here and is in the log already that another owner has had
// it, who may have died before it was done with it: the lane has been elsewhere since.
// Called with the lock held.
func (c *Conversation) noteTried(journal *session.Log) {
	for _, it := range c.Queue {
		it.Tried = it.Tried || it.Delivery != nil && known(journal, it)
	}
}

// unsent is the first commit whose replies an owner before may not have
// published, 0 if there is none: that of the oldest message that has come
// again, or just the last, which may be of inputs that only the log held, or of what another
// lane has brought and brings again later. Called with the lock held.
func (c *Conversation) unsent(journal *session.Log) uint64 {
	tried, from := false, journal.Replied()
	for _, it := range c.Queue {
		if !it.Tried {
			continue
		}
		tried = true
		if seq, _ := it.Seen(journal); seq > 0 {
			from = min(from, seq)
		}
	}
	if !tried && (from <= c.replied || time.Since(journal.RepliedAt()) > bus.DedupeWindow) {
		return 0
	}
	return from
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

// interjects takes an input off the queue if it is meant for the run. One that only
// interrupts the run stays, as the next. Called with the lock held.
func (c *Conversation) interjects(journal *session.Log, it *message.Item, left *run.Run) (*message.Item, run.Signal, bool) {
	none := run.Signal{}
	if c.HasChanges() && (it.Changes() || len(c.ChangedIn(it)) > 0) { // it is for what waits, or waits for its turn
		return nil, none, false
	}
	sig, answers := c.reader().Answer(it, left)
	mode := c.mode(it)
	if !answers && len(c.live) == 0 && mode != session.Steer && mode != session.Interrupt { // it waits for its turn, as most do
		return nil, none, false
	}
	at := slices.Index(c.Queue, it)
	if at < 0 || known(journal, it) || c.inRun(it.Input.ID) || !answers && len(c.live) == 0 && it.NotBefore.After(time.Now()) {
		return nil, none, false
	}
	if c.answersLive(it) {
		c.takeOut(it)
		return it, none, true
	}
	if answers {
		c.takeOut(it)
		return it, sig, true
	}
	switch mode {
	case session.Steer:
		if slices.ContainsFunc(c.Queue[:at], c.keepsBack) {
			return nil, none, false
		}
		c.takeOut(it)
		return it, run.Signal{
			Kind: run.Submit, At: time.Now(), Run: "steer:" + it.Input.ID, Inputs: []run.Input{it.Input}, Join: true,
		}, true
	case session.Interrupt:
		c.Shift(at, c.nextTurn(it, at))
		return nil, run.Signal{
			Kind: run.Abort, At: time.Now(), Run: left.ID, By: "interrupt", Reason: c.Book(it).Say("stopped_for_newer"),
		}, true
	}
	return nil, none, false
}

// nextTurn is where what interrupts the run belongs, which is at a place of the queue:
// behind what it may not pass. With priority it passes all that has none. Called with
// the lock held.
func (c *Conversation) nextTurn(it *message.Item, at int) (turn int) {
	now := it.Origin.Inbound.Priority == "now"
	for i, other := range c.Queue[:at] {
		if c.keepsBack(other) && (!now || other.Origin.Inbound.Priority == "now") {
			turn = i + 1
		}
	}
	return turn
}

// keepsBack reports whether what came later may not pass it: a message of the chat that
// has yet to be taken, unless it says itself that it can wait. The log may have it
// already, or it may be on its way there. Called with the lock held.
func (c *Conversation) keepsBack(it *message.Item) bool {
	in := it.Origin.Inbound
	return in != nil && in.Priority != "later" && c.waits(it) && !c.inRun(it.Input.ID)
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

// takeOut is unqueue with the lock held.
func (c *Conversation) takeOut(it *message.Item) {
	if c.Remove(it) && it.Changes() {
		c.watch().Again()
	}
}

// together is how many inputs at the head of the queue make one run. Called
// with the lock held.
func (c *Conversation) together(journal *session.Log) int {
	first, limit := c.Queue[0], most
	switch {
	case c.alone(first):
		return 1
	case !first.Stale.IsZero():
		limit = c.Agent.Now().QueueMax()
	case first.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect:
		return 1
	}
	n := 1
	for n < min(len(c.Queue), limit) {
		it := c.Queue[n]
		_, seen := it.Seen(journal)
		same := func(other *message.Item) bool { return other.Input.ID == it.Input.ID }
		if it.Changes() && slices.ContainsFunc(c.Queue[:n], it.ChangesOf) && !slices.ContainsFunc(c.Queue[:n], same) {
			n++
			continue
		}
		if it.Place == message.Spilling || it.Interjects() || it.Changes() || c.alone(it) || !c.due(it, nil) || !it.Alike(first) || seen != (it.Place == message.Logged) ||
			slices.ContainsFunc(c.Queue[:n], same) {
			break
		}
		n++
	}
	return n
}
