package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// A message with priority stops the run that is under way when it comes, and is the next. It stops
// none of those that waited then: it goes before them, whether a run is under way or not. Where the
// rate of its sender has no room, it takes the first time that the rate has given to what it
// passes, and each of those takes the time of the next: the sender gets no more than the rate.
// It passes no order to start afresh, nor what is before that.

// urgentFirst moves what has priority before what waits without. Called with the lock held, and
// the log open.
func (c *Conversation) urgentFirst(journal *session.Log) {
	for at := 0; at < len(c.Queue); at++ {
		it := c.Queue[at]
		if !c.urgent(it) || !c.keepsBack(it) {
			continue
		}
		c.rateUpTo(journal, at)
		if c.overRate(it) || it.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect { // else it is taken with them
			c.bringForward(at)
		}
	}
}

// urgent reports whether a message has priority.
func (c *Conversation) urgent(it *message.Item) bool {
	in := it.Origin.Inbound
	return in != nil && in.Priority == "now" && c.mode(it) == session.Interrupt
}

// overRate reports whether an input waits for the rate of its sender.
func (c *Conversation) overRate(it *message.Item) bool { return it.NotBefore.After(time.Now()) }

// patient has what has priority, and waits behind an order to start afresh, stop none of the
// runs up to that: their messages waited when it came. Called with the lock held before the next
// run takes its messages off the queue, and the log open.
func (c *Conversation) patient() {
	afresh := slices.IndexFunc(c.Queue, func(it *message.Item) bool { return it.StartsAfresh() && c.keepsBack(it) })
	if afresh < 0 {
		return
	}
	for _, it := range c.Queue[afresh:] {
		it.Patient = it.Patient || c.urgent(it)
	}
}

// rateUpTo has the rate judge the message at a place of the queue, which is to pass what stands
// before it, after those: what came first is what the rate lets go on. Called with the lock held.
func (c *Conversation) rateUpTo(journal *session.Log, at int) {
	if c.Queue[at].Unrated.IsZero() {
		return
	}
	for _, it := range c.Queue[:at+1] {
		if !it.Unrated.IsZero() && !c.cameBefore(journal, it) && !c.passer().MayPass(it) {
			c.shared.Intake.WithinRate(it)
		}
	}
}

// bringForward moves the message with priority at a place of the queue to its next turn. Called
// with the lock held, and the log open.
func (c *Conversation) bringForward(at int) {
	it := c.Queue[at]
	turn := c.nextTurn(it, at)
	c.Shift(at, turn)
	if !c.overRate(it) {
		return
	}
	var passed []*message.Item // and it
	var times []time.Time
	for _, other := range c.Queue[turn:] {
		if c.waits(other) && !c.inRun(other.Input.ID) && other.Unrated.IsZero() && c.shared.Intake.SameRate(it, other) {
			passed, times = append(passed, other), append(times, other.NotBefore)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i, other := range passed {
		other.NotBefore = times[i]
	}
}

// lookWhenDue has the run under way look at the queue once more when the rate has room for an
// input that is to stop it. Called with the lock held.
func (c *Conversation) lookWhenDue(it *message.Item) {
	if c.looks.After(time.Now()) && !it.NotBefore.Before(c.looks) {
		return
	}
	c.looks = it.NotBefore
	time.AfterFunc(time.Until(it.NotBefore), func() {
		c.lookAgain()
		c.runs.Poke()
	})
}
