package conversation

import (
	"strconv"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/passon"
	"agenthost/agents/internal/replies"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// A message that is refused, or passed on to a run of another session, has its end as any
// other: the log notes it before its sender is told, and what they are told is stored before the
// message is acknowledged. So it gets no second end when it comes again.

// refusalBatch is how many messages one commit refuses; it fits into a message.
const refusalBatch = 256

// A refusalQueue holds the inputs that are to be refused.
type refusalQueue struct {
	refusals    []*message.Item
	refusing    bool   // commitRefusals is at work
	refusedFrom uint64 // all that have come since this sequence were refused; 0: the last was not
}

// refuse answers an input of the queue with an error, outside of any run.
func (c *Conversation) refuse(journal *session.Log, it *message.Item, e *run.Error) {
	c.mu.Lock()
	c.takeOut(it)
	it.Refusal = e
	c.refusals = append(c.refusals, it)
	c.mu.Unlock()
	c.commitRefusals(journal)
}

// passer passes on what is for runs of other sessions.
func (c *Conversation) passer() passon.Passer { return passon.Passer{Session: c.Session} }

// passOn passes an input on to the run of another session that it is for, and reports whether
// it is for one.
func (c *Conversation) passOn(journal *session.Log, it *message.Item) bool {
	return c.passedOn(journal, it, c.passer().Pass(it, journal.State().Run))
}

// passOnSoon is passOn for what may name a question that is not known everywhere yet.
func (c *Conversation) passOnSoon(journal *session.Log, it *message.Item) {
	c.passedOn(journal, it, c.passer().PassSoon(it, journal.State().Run))
}

// passedOn deals with an input by what became of it, and reports whether that was its end here:
// then the queue has it only if that could not be stored.
func (c *Conversation) passedOn(journal *session.Log, it *message.Item, out passon.Outcome) bool {
	switch {
	case out.Refused != nil:
		c.refuse(journal, it, out.Refused)
	case out.Told != "":
		c.mu.Lock()
		c.takeOut(it)
		it.PassedOn = out.Told
		c.refusals = append(c.refusals, it)
		c.mu.Unlock()
		c.commitRefusals(journal)
	case out.Over:
		c.unqueue(it)
		it.Delivery.Done()
	case out.Unknown:
		c.unqueue(it)
		it.Delivery.Leave()
	default:
		return false
	}
	return true
}

// commitRefusals writes what is to be refused to the log, unless that is under
// way. There is one batch at a time, so that a flood does not keep the run's own
// commits from the log.
func (c *Conversation) commitRefusals(journal *session.Log) {
	c.mu.Lock()
	if c.refusing || len(c.refusals) == 0 {
		c.mu.Unlock()
		return
	}
	c.refusing = true
	n := min(len(c.refusals), refusalBatch)
	batch := c.refusals[:n:n]
	c.refusals = c.refusals[n:]
	c.mu.Unlock()
	replies := make([]*outbox.Batch, n)
	events := make([]run.Event, n)
	now := time.Now().UTC().Round(0)
	for i, it := range batch {
		events[i], replies[i] = c.endOf(it)
		events[i].At = now
	}
	journal.Add(c.Agent.Work, events, func(err error) {
		if err != nil {
			c.refusalsBroke(batch, err)
			return
		}
		c.sendRefusals(journal, batch, replies)
	})
}

// refusalsBroke queues a batch again whose commit was not stored.
func (c *Conversation) refusalsBroke(batch []*message.Item, err error) {
	c.mu.Lock()
	c.refusing = false
	for _, it := range append(batch, c.refusals...) {
		it.Place, it.Withdrawn, it.Since = message.Held, false, 0
		it.Tried = it.Tried || it.PassedOn != "" // then it is looked up what it was for
		it.PassedOn = ""
		c.enqueue(c.TurnOf(it), it)
	}
	c.refusals = nil
	c.mu.Unlock()
	c.brokeBeside(err)
}

// sendRefusals publishes the errors of a batch, side by side: they answer
// messages that no run has taken. The next batch waits until all are stored, so
// that after a crash only those of the last commit can be missing.
func (c *Conversation) sendRefusals(journal *session.Log, batch []*message.Item, replies []*outbox.Batch) {
	var left, lost atomic.Int64
	left.Store(int64(len(batch)))
	for _, out := range replies {
		if len(out.Replies) == 0 {
			if left.Add(-1) == 0 {
				c.refusalsSent(journal, message.DeliveriesOf(batch), lost.Load() == 0)
			}
			continue
		}
		c.out.Publish(out.Replies[0], out.Trace, func(stored bool) {
			if !stored {
				lost.Add(1)
			}
			if left.Add(-1) == 0 {
				c.refusalsSent(journal, message.DeliveriesOf(batch), lost.Load() == 0)
			}
		})
	}
}

// refusalsSent settles the messages of a batch and goes on with what has come
// since.
func (c *Conversation) refusalsSent(journal *session.Log, batch []*delivery.Delivery, stored bool) {
	if stored {
		c.settle(batch)
	} else {
		message.LeaveAll(batch)
	}
	c.mu.Lock()
	c.refusing = false
	c.mu.Unlock()
	c.commitRefusals(journal)
	c.rest()
}

// endOf is the event that ends an input without a run, and the reply that goes with it.
func (c *Conversation) endOf(it *message.Item) (run.Event, *outbox.Batch) {
	input := it.Input.Brief()
	input.Hooks = it.HookActs()
	if it.Withdrawn {
		return run.Event{Type: run.InputWithdrawn, Input: input}, &outbox.Batch{}
	}
	if it.PassedOn != "" {
		out := replies.Aside(c.Session, it, run.Reply{Kind: run.KindReply, Final: true, Text: it.PassedOn})
		return run.Event{Type: run.InputPassedOn, Reply: out.Replies[0], Input: input}, out
	}
	name := it.Input.ID
	if it.Since > 0 { // the log does not note its id: sent again with that, it may be refused again
		name += " " + strconv.FormatUint(it.Input.Seq, 10)
	}
	out := replies.AsideAs(c.Session, name, it, run.Reply{Kind: run.KindError, Final: true, Error: it.Refusal, Text: it.Refusal.Message})
	return run.Event{Type: run.InputRefused, Since: it.Since, Reply: out.Replies[0], Input: input}, out
}
