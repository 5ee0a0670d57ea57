package conversation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/runner"
	"agenthost/agents/internal/takeover"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// A suspension is the wait of a run for a person or another agent. Nothing is held then: a
// message that is no answer goes to the log.
type suspension struct {
	suspended bool
	noticed   bool      // a person was told about it
	reminded  time.Time // when a deadline that has passed was set again; only its work touches this
}

// suspend releases all that a run which waits has held: its log has it all.
func (c *Conversation) suspend(t *runner.Runner) {
	deliveries := message.DeliveriesOf(t.Items)
	c.mu.Lock()
	c.suspended = true
	if c.anchor != nil {
		deliveries = append(deliveries, c.anchor)
		c.anchor = nil
	}
	c.mu.Unlock()
	c.out.Send(&outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(deliveries)
		} else {
			message.LeaveAll(deliveries)
		}
	}})
	c.idle()
}

// workSuspended looks at what has come for a run that waits: the answer lets it
// go on, anything else waits behind it, in the log.
func (c *Conversation) workSuspended(journal *session.Log, left *run.Run) {
	if c.leaveOutDeleted(journal) != nil { // the host stops
		c.leave()
		return
	}
	c.mu.Lock()
	c.suspended, c.refusedFrom = true, 0
	fresh, reads := c.fresh, c.reads
	c.fresh = false
	held, settled := c.heldItems()
	c.mu.Unlock()
	for _, d := range settled {
		d.Done()
	}
	t := c.runs.New(journal, left.ID, nil)
	t.TakeUp(left)
	if fresh && slices.ContainsFunc(held, func(it *message.Item) bool { return it.Tried }) {
		// The owner before may have died before its question was published.
		if ended, err := t.AskAgain(); ended || err != nil {
			c.end(t, err)
			return
		}
	}
	for _, it := range held {
		if sig, ok := c.reader().Answer(it, left); ok && !known(journal, it) { // an answer counts once
			other, err := c.reader().PassedOn(it)
			if err == nil && other == "" {
				if reason := c.ScreenAnswer(c.Agent.Work, it, left, &sig); reason != "" {
					c.refuse(journal, it, inflight.RefusedByHook(reason))
					continue
				}
				c.unqueue(it)
				t.Join(it)
				err = t.GoOn(left, sig)
			}
			if err != nil || other == "" {
				c.end(t, err)
				return
			}
		}
		c.remindAgain(t, left, it)
		switch err := c.keepWaiting(journal, reads, left, it); {
		case errors.Is(err, errOutdated):
			c.reread()
			return
		case err != nil:
			c.end(t, err)
			return
		}
	}
	c.idle()
}

// unqueue takes one input off the queue.
func (c *Conversation) unqueue(it *message.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeOut(it)
}

// keepWaiting deals with an input that is no answer to what the run waits for, as the log says that
// was read so often.
func (c *Conversation) keepWaiting(journal *session.Log, reads int, left *run.Run, it *message.Item) error {
	seq, seen := it.Seen(journal)
	switch {
	case it.Interjects() && seen:
		c.unqueue(it)
		c.shared.Intake.Taken(it)
	case answers.OperatorOrder(it) != "": // of an operator who has not taken the chat over, or cannot
		c.unqueue(it)
		_, refused := c.operated(journal, it)
		c.Agent.Parts.Tell(it.Origin.Route, cmp.Or(refused, takeover.ErrNotTaken))
		it.Delivery.Done()
	case it.Interjects() && c.mayWait(it, left):
		return errOutdated
	case it.Interjects():
		c.unqueue(it)
		c.turnDown(it, left)
	case seen && seq > 0:
		c.unqueue(it)
		return c.answerAgain(journal, it, seq)
	case seen && moves(journal, it):
		return c.move(journal, it)
	case seen: // it has begun the run that waits, has answered before, or waits itself
		c.unqueue(it)
		it.Delivery.Done()
	case it.Origin.Route != nil && it.Origin.Route.Kind == bus.RouteHeartbeat: // its time is over
		c.unqueue(it)
		it.Delivery.Done()
	case it.Late:
		c.unqueue(it)
		c.shared.Intake.LeaveOut(it)
		it.Delivery.Done()
	case c.reader().Refusal(it, left) != nil:
		c.refuse(journal, it, c.reader().Refusal(it, left))
	case it.Origin.Inbound != nil && c.passOn(journal, it): // and so it is not in the queue any more
	case it.Origin.Inbound != nil && it.Origin.Inbound.Answers != "":
		c.refuse(journal, it, c.reader().NoneOf(it, left))
	case c.reader().ForAnother(it, left): // which hears it too
		c.unqueue(it)
		it.Delivery.Done()
	case c.reader().Misnumbered(it, left) != nil:
		c.refuse(journal, it, c.reader().Misnumbered(it, left))
	default:
		return c.waitBehind(journal, reads, left, it)
	}
	return nil
}

// remindEvery is how often what comes after a deadline has it set again, at most.
const remindEvery = time.Minute

// remindAgain has the deadlines come that had passed when an input came: the run waits for
// them alone, and one of them may be lost. An answer that was kept for the agent while it was
// removed has taken the place of its deadline.
func (c *Conversation) remindAgain(t *runner.Runner, left *run.Run, it *message.Item) {
	for _, call := range left.Open() {
		kept := it.Interjects() && it.Origin.Due() && it.Origin.Route.From != ask.FromDeadline && it.Origin.Route.CorrelationID == c.WaitID(t.ID, call)
		if !kept && (!answers.TooLate(call, it) || time.Since(c.reminded) < remindEvery) {
			continue
		}
		c.reminded = time.Now()
		ctx, cancel := context.WithTimeout(c.Agent.Work, 10*time.Second)
		if err := t.Tools.Remind(ctx, call); err != nil {
			c.Log().Warn().Err(err).Msg("set a deadline that has passed again: failed")
		}
		cancel()
	}
}

// waitBehind has an input wait in the log for the end of the run that waits,
// unless there is no room for it. Where the log was opened again since it was read so often, those
// before it in the queue are to be looked at again, and to be in the log before it.
func (c *Conversation) waitBehind(journal *session.Log, reads int, left *run.Run, it *message.Item) error {
	c.mu.Lock()
	if c.reads != reads {
		c.mu.Unlock()
		return errOutdated
	}
	if !c.withinRate(journal, it) {
		c.takeOut(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
		return nil
	}
	if slices.Index(c.Queue, it) >= c.roomBehind(it) {
		c.takeOut(it)
		c.refuseExcess(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
		return nil
	}
	c.refusedFrom = 0
	if it.Changes() && !c.hasTarget(it) {
		c.refuseMissed(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
		return nil
	}
	c.Move(it, message.Spilled)
	c.spill()
	told := c.noticed || it.Changes()
	c.noticed = c.noticed || !told
	c.mu.Unlock()
	if !told && it.Origin.Inbound != nil {
		c.notice(it, left)
	}
	return nil
}

// mayWait reports whether something may wait for an answer that the run, as it is known
// here, does not wait for.
func (c *Conversation) mayWait(it *message.Item, left *run.Run) bool {
	if _, waits := c.reader().WaitingCall(left, it.Origin.Route.CorrelationID); waits {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outdated(it)
}

// turnDown drops an answer that the run does not take.
func (c *Conversation) turnDown(it *message.Item, left *run.Run) {
	if _, waits := c.reader().WaitingCall(left, it.Origin.Route.CorrelationID); !waits {
		c.shared.Intake.Late(it)
		return
	}
	why := it.Unfit
	if why == nil {
		why = answers.ErrUnfit
	}
	c.Agent.Parts.Tell(it.Origin.Route, why)
	it.Delivery.Done()
}

// notice says to a person, once, what their message has to wait for.
func (c *Conversation) notice(it *message.Item, left *run.Run) {
	if text := c.reader().Notice(it, left); text != "" {
		c.out.Say(it, run.Reply{Kind: run.KindNotice, Text: text})
	}
}
