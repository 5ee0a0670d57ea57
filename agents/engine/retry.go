package engine

import (
	"context"
	"errors"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/session"
)

// brokeOff goes on after a commit of a run that was not stored. The fence has
// refused it where another host has written to the session: if that host serves
// the lane now, all that is held here is its business. Else this host opens the
// log again and goes on from what it says, in place, so that nothing newer
// overtakes the run; each try is counted.
func (c *conversation) brokeOff(items []*message.Item, err error) {
	if errors.Is(err, session.ErrFenced) {
		c.Log().Warn().Msg("commit: another host has written to this session; opening its log again")
		c.again(items, c.ours)
		return
	}
	if !errors.Is(err, publishing.ErrClosed) {
		c.Log().Error().Err(err).Msg("run broke off; trying again from its log")
	}
	c.again(items, func([]*delivery.Delivery) bool { return true })
}

// brokeBeside goes on after a commit beside the run was not stored: the log has
// to be opened again. A run at work finds that out at once.
func (c *conversation) brokeBeside(err error) {
	c.mu.Lock()
	atWork := c.running
	c.running = true
	c.mu.Unlock()
	if atWork {
		c.poke()
		return
	}
	c.brokeOff(nil, err)
}

// again starts over with items, from the log, unless they are not this host's
// any more.
func (c *conversation) again(items []*message.Item, ours func([]*delivery.Delivery) bool) {
	c.mu.Lock()
	c.forget(items...)
	for _, it := range c.Queue {
		it.Tried, it.Handed = true, false
	}
	c.fences++
	wait := min(50*time.Millisecond<<min(c.fences, 6), 2*time.Second)
	deliveries := message.DeliveriesOf(c.Queue)
	if c.anchor != nil {
		deliveries = append(deliveries, c.anchor)
	}
	c.mu.Unlock()
	time.AfterFunc(wait, func() {
		if ours(deliveries) {
			c.r.schedule(c)
		} else {
			c.leave()
		}
	})
}

// ours asks whether this host still serves the lane that brought the messages.
// Not to know counts as yes: the fence decides again.
func (c *conversation) ours(deliveries []*delivery.Delivery) bool {
	if len(deliveries) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.r.agent.Work, 5*time.Second)
	defer cancel()
	owns, err := deliveries[0].Lane().Owns(ctx)
	return owns || err != nil
}
