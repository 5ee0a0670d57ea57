package agents

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nuid"
)

// errStopping ends work that the host has no more time for.
var errStopping = errors.New("host is stopping")

// work does what is next in the conversation, up to the end of one run. It
// holds a slot, which is free again when the last commit is on its way.
func (c *conversation) work() {
	if c.r.stopping.Load() {
		c.leave()
		return
	}
	journal, err := c.open()
	if err != nil {
		c.leave()
		return
	}
	if left := journal.State().Run; left != nil {
		c.resumeRun(journal, left)
		return
	}
	items, err := c.take(journal)
	switch {
	case err != nil:
		c.leave()
	case len(items) == 0:
		c.proceed()
	default:
		t := c.newRunner(journal, nuid.Next(), items)
		c.end(t, t.start())
	}
}

// resumeRun goes on with the run that the log has.
func (c *conversation) resumeRun(journal *session.Log, left *run.Run) {
	switch {
	case journal.State().Phase == run.InSuspense:
		c.workSuspended(journal, left)
	case c.waitsAlone(left):
	default:
		t := c.unfinished(journal, left)
		c.end(t, t.resume())
	}
}

// end deals with a run that did not come to its end. One that did goes on by
// itself, when its commit is stored.
func (c *conversation) end(t *runner, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errSuspended):
		c.suspend(t)
	case errors.Is(err, errStopping), errors.Is(err, publishing.ErrClosed):
		leaveAll(deliveriesOf(t.items))
		c.leave()
	default:
		c.brokeOff(t.items, err)
	}
}

// open opens the log, unless it is open, and queues what waits in it. It tries
// until it can or the host stops.
func (c *conversation) open() (*session.Log, error) {
	select {
	case <-c.opening:
		defer func() { c.opening <- struct{}{} }()
	case <-c.r.work.Done():
		return nil, errStopping
	}
	c.mu.Lock()
	if c.journal != nil && c.journal.Err() != nil {
		c.forget()
	}
	journal := c.journal
	c.mu.Unlock()
	if journal != nil {
		return journal, nil
	}
	journal, err := c.load()
	if err != nil {
		return nil, err
	}
	state := journal.State()
	c.mu.Lock()
	from := c.unsent(journal)
	c.journal, c.fresh = journal, true
	c.taken, c.suspended = state.Run != nil, state.Phase == run.InSuspense
	c.mergeWaiting(state.Waiting)
	c.refuseMissing()
	c.admitAll()
	c.mu.Unlock()
	c.commitRefusals(journal)
	if from > 0 {
		if err := c.catchUp(journal.RepliedSince(from)); err != nil {
			return nil, err
		}
	}
	c.announce(state)
	return journal, nil
}

func (c *conversation) load() (*session.Log, error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
		journal, err := c.r.parts.Store.Open(ctx, c.r.id, c.key)
		cancel()
		if err == nil {
			return journal, nil
		}
		if c.r.work.Err() != nil {
			return nil, errStopping
		}
		c.few().Warn().Err(err).Msg("session cannot be opened; trying again")
		select {
		case <-time.After(wait):
		case <-c.r.work.Done():
		}
	}
}

// announce tells the hooks that the session is in memory.
func (c *conversation) announce(state run.State) {
	if !c.hooked(hooks.OnSessionStart) {
		return
	}
	reason := "resumed"
	if state.Phase == run.Idle && len(state.Waiting) == 0 {
		reason = "new"
	}
	c.r.fire(hooks.OnSessionStart, c.key, "", hooks.Args{"key": quoted(string(c.key)), "reason": quoted(reason)})
}

// unfinished is the run that an owner before has left, with the messages of it
// that have come again.
func (c *conversation) unfinished(journal *session.Log, left *run.Run) *runner {
	c.mu.Lock()
	var items []*item
	for _, in := range left.Inputs {
		if it := c.find(in.ID, (*item).again); it != nil {
			items = append(items, it)
			c.takeOut(it)
		}
	}
	c.mu.Unlock()
	t := c.newRunner(journal, left.ID, items)
	t.answerTo(left.Inputs)
	return t
}

// most is how many messages one run answers together.
const most = 100

// take takes the inputs of the next run off the queue; there are several only
// where they are collected. What the log has answered is answered again from
// there.
func (c *conversation) take(journal *session.Log) ([]*item, error) {
	for {
		if c.block() {
			if c.r.stopping.Load() { // it may be too late to be sent off
				return nil, errStopping
			}
			return nil, nil
		}
		c.mu.Lock()
		wait := c.dropWithdrawn()
		if ended := len(c.refusals) > 0 && !c.refusing; ended {
			c.mu.Unlock()
			c.commitRefusals(journal)
			continue
		}
		if len(c.queue) == 0 || c.queue[0].place == spilling || wait {
			c.blocked = wait // until the commit has ended
			c.mu.Unlock()
			return nil, nil
		}
		it := c.queue[0]
		seq, seen := it.seen(journal)
		if it.interjects() { // nothing is under way that it could be meant for
			c.pop(1)
			c.mu.Unlock()
			switch {
			case it.delivery == nil:
			case seen:
				c.r.taken(it)
			default:
				c.r.late(it)
			}
			continue
		}
		if it.changes() && (!seen || it.place == logged && seq == 0) {
			if c.hasTarget(it) {
				c.behindTarget(it)
			} else {
				c.refuseMissed(it)
			}
			c.mu.Unlock()
			c.commitRefusals(journal)
			continue
		}
		if !seen && c.mayAnswer(it) {
			c.mu.Unlock()
			if c.forwardSoon(journal, it) {
				c.unqueue(it)
			}
			continue
		}
		if !seen || it.place == logged && seq == 0 {
			n := c.together(journal)
			if c.blocked = c.unsettledChange(n); c.blocked {
				c.mu.Unlock()
				return nil, nil
			}
			items := c.edited(c.pop(n))
			c.taken = true
			c.mu.Unlock()
			return items, nil
		}
		c.pop(1)
		c.mu.Unlock()
		if seq == 0 { // another message with its id waits in the log
			c.settle(deliveriesOf([]*item{it}))
			continue
		}
		if err := c.answerAgain(it, seq); err != nil {
			return nil, err
		}
	}
}

// together is how many inputs at the head of the queue make one run. Called
// with the lock held.
func (c *conversation) together(journal *session.Log) int {
	first, limit := c.queue[0], most
	switch {
	case c.alone(first):
		return 1
	case !first.stale.IsZero():
		limit = c.r.backlog()
	case first.queue(c.r.now().cfg.Session.Queue) != session.Collect:
		return 1
	}
	n := 1
	for n < min(len(c.queue), limit) {
		it := c.queue[n]
		_, seen := it.seen(journal)
		same := func(other *item) bool { return other.input.ID == it.input.ID }
		if it.changes() && slices.ContainsFunc(c.queue[:n], it.changesOf) {
			n++
			continue
		}
		if it.place == spilling || it.interjects() || it.changes() || c.alone(it) || !c.due(it, nil) || !it.alike(first) || seen != (it.place == logged) ||
			slices.ContainsFunc(c.queue[:n], same) {
			break
		}
		n++
	}
	return n
}

// alone reports whether an input is answered by itself: an order, or the answer
// to a question, is no part of what somebody says.
func (c *conversation) alone(it *item) bool {
	in := it.origin.inbound
	if in == nil {
		return false
	}
	return c.r.isOrder(in) || in.Answers != ""
}

// brokeOff goes on after a commit of a run that was not stored. The fence has
// refused it where another host has written to the session: if that host serves
// the lane now, all that is held here is its business. Else this host opens the
// log again and goes on from what it says, in place, so that nothing newer
// overtakes the run; each try is counted.
func (c *conversation) brokeOff(items []*item, err error) {
	if errors.Is(err, session.ErrFenced) {
		c.log().Warn().Msg("commit: another host has written to this session; opening its log again")
		c.again(items, c.ours)
		return
	}
	if !errors.Is(err, publishing.ErrClosed) {
		c.log().Error().Err(err).Msg("run broke off; trying again from its log")
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

// again begins anew with items, from the log, unless they are not this host's
// any more.
func (c *conversation) again(items []*item, ours func([]*delivery.Delivery) bool) {
	c.mu.Lock()
	c.forget(items...)
	for _, it := range c.queue {
		it.tried, it.handed = true, false
	}
	c.fences++
	wait := min(50*time.Millisecond<<min(c.fences, 6), 2*time.Second)
	deliveries := deliveriesOf(c.queue)
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
	ctx, cancel := context.WithTimeout(c.r.work, 5*time.Second)
	defer cancel()
	owns, err := deliveries[0].Lane().Owns(ctx)
	return owns || err != nil
}

// guard turns a panic of work in progress into an error, with its stack logged.
func (c *conversation) guard(err *error) {
	if p := recover(); p != nil {
		c.log().Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in a run")
		*err = fmt.Errorf("panic: %v", p)
	}
}
