package conversation

import (
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// awaitsFormer reports whether the host that served the lane before is still at work in
// the session. Then nothing begins here until that has ended, but for what is to stop it:
// that cannot reach it, and so the run goes on here.
func (c *Conversation) awaitsFormer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, key, finishing := c.Agent.ID, string(c.Key), c.Agent.Parts.Finishing
	if !finishing.Has(id, key) { // as a rule, and then the queue need not be read
		return false
	}
	if slices.ContainsFunc(c.Queue, c.breaksIn) || !finishing.Holds(id, key, c, c.Unblock) {
		return false
	}
	c.running, c.blocked = false, true
	return true
}

// block keeps the queue from being worked on until the first of it is due. It
// reports whether it is not.
func (c *Conversation) block() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passDelayed()
	c.blocked = len(c.Queue) > 0 && !c.due(c.Queue[0], c.Unblock)
	return c.blocked
}

// passDelayed moves an order or an answer before what waits for the rate of its
// sender, or is paused: those do not count for it. The order to start afresh keeps its turn:
// what was sent before it is to be forgotten after it. Called with the lock held.
func (c *Conversation) passDelayed() {
	if len(c.Queue) < 2 || !c.Queue[0].NotBefore.After(time.Now()) && !c.paused(c.Queue[0], nil) {
		return
	}
	i := slices.IndexFunc(c.Queue, func(it *message.Item) bool { return c.alone(it) && !it.StartsAfresh() && it.Place != message.Spilling })
	if i > 0 {
		c.Shift(i, 0)
	}
}

// Unblock has the conversation look again at what it waited for.
func (c *Conversation) Unblock() {
	c.mu.Lock()
	c.blocked = false
	c.wake(0)
	c.mu.Unlock()
}

// due reports whether nothing that came before it can still come. If something
// can, then is called once that has come; nil asks only. Called with the lock
// held.
func (c *Conversation) due(it *message.Item, then func()) bool {
	if c.paused(it, then) {
		return false
	}
	if wait := time.Until(it.NotBefore); wait > 0 {
		if then != nil {
			time.AfterFunc(wait, then)
		}
		return false
	}
	if !it.Inherited || !it.OnlyLogged() || it.Origin.Guest() {
		return true
	}
	if c.lane == nil {
		return !c.awaitsLane(it, then)
	}
	if c.lane.Passed(it.Input.Seq, then) && then != nil {
		c.disinherit()
	}
	return false
}

// paused reports whether an operator has paused what would begin with it. If so, then
// is called when that may have changed; nil asks only. What is under way may be answered
// and stopped.
func (c *Conversation) paused(it *message.Item, then func()) bool {
	return c.pausedThen(it, c, then)
}

// pausedThen is paused with who it is that looks.
func (c *Conversation) pausedThen(it *message.Item, who any, then func()) bool {
	if c.alone(it) {
		return false
	}
	channel := ""
	if it.Origin.Inbound != nil {
		channel = strings.TrimPrefix(it.Origin.Subject, bus.InboundPrefix)
	}
	return c.Agent.Parts.Pauses.Holds(c.Agent.ID, channel, who, then)
}

// A runOf is the run under way of a conversation, which looks at the queue beside that.
type runOf struct{ *Conversation }

// pausedFor is paused for what would join the run under way or stop it: the run goes on without
// it, and looks at it once more when the pause may have ended. Called with the lock held.
func (c *Conversation) pausedFor(it *message.Item) bool {
	return c.pausedThen(it, runOf{c}, func() {
		c.lookAgain()
		c.runs.Poke()
	})
}

// disinherit has what the log has brought begin, as far as the lane has passed it, once all
// that the lane has handed out by now has left the agent's inbox: then nothing older can
// come. Called with the lock held.
func (c *Conversation) disinherit() {
	var passed []*message.Item
	upTo := uint64(0)
	for _, it := range c.Queue {
		if it.Inherited && c.lane.Passed(it.Input.Seq, nil) {
			passed, upTo = append(passed, it), max(upTo, it.Input.Seq)
		}
	}
	c.shared.AfterInbox(c.Key, upTo, func() {
		c.mu.Lock()
		for _, it := range passed {
			it.Inherited = false
		}
		c.mu.Unlock()
		c.Unblock()
	})
}
