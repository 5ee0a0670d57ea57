package agents

import (
	"sync/atomic"
	"time"

	"agenthost/agents/internal/outbox"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// A message that is refused has its end as any other: the log notes it before
// the error is published, and the error is stored before the message is
// acknowledged. So it gets no second end when it comes again.

// refusalBatch is how many messages one commit refuses; it fits into a message.
const refusalBatch = 256

// refuse answers an input of the queue with an error, outside of any run.
func (c *conversation) refuse(journal *session.Log, it *item, e *run.Error) {
	c.mu.Lock()
	c.takeOut(it)
	it.refusal = e
	c.refusals = append(c.refusals, it)
	c.mu.Unlock()
	c.commitRefusals(journal)
}

// refuseExcess has an input refused that the queue has no room for. The log notes
// a flood of these by where it begins and ends: for that it has to know whether
// anything else has come in between. Called with the lock held.
func (c *conversation) refuseExcess(it *item) {
	it.refusal, it.since = c.mistake(it, "too_many_waiting"), 0
	if it.origin.inbound != nil {
		if c.refusedFrom == 0 {
			c.refusedFrom = it.input.Seq
		}
		it.since = c.refusedFrom
	}
	c.refusals = append(c.refusals, it)
}

// commitRefusals writes what is to be refused to the log, unless that is under
// way. There is one batch at a time, so that a flood does not keep the run's own
// commits from the log.
func (c *conversation) commitRefusals(journal *session.Log) {
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
	journal.Add(c.r.work, events, func(err error) {
		if err != nil {
			c.refusalsBroke(batch, err)
			return
		}
		c.sendRefusals(journal, batch, replies)
	})
}

// refusalsBroke queues a batch again whose commit was not stored.
func (c *conversation) refusalsBroke(batch []*item, err error) {
	c.mu.Lock()
	c.refusing = false
	for _, it := range append(batch, c.refusals...) {
		it.place, it.withdrawn = held, false
		c.enqueue(c.turnOf(it), it)
	}
	c.refusals = nil
	c.mu.Unlock()
	c.brokeBeside(err)
}

// sendRefusals publishes the errors of a batch, side by side: they answer
// messages that no run has taken. The next batch waits until all are stored, so
// that after a crash only those of the last commit can be missing.
func (c *conversation) sendRefusals(journal *session.Log, batch []*item, replies []*outbox.Batch) {
	var left, lost atomic.Int64
	left.Store(int64(len(batch)))
	for _, out := range replies {
		if len(out.Replies) == 0 {
			if left.Add(-1) == 0 {
				c.refusalsSent(journal, deliveriesOf(batch), lost.Load() == 0)
			}
			continue
		}
		c.publish(out.Replies[0], out.Trace, func(stored bool) {
			if !stored {
				lost.Add(1)
			}
			if left.Add(-1) == 0 {
				c.refusalsSent(journal, deliveriesOf(batch), lost.Load() == 0)
			}
		})
	}
}

// refusalsSent settles the messages of a batch and goes on with what has come
// since.
func (c *conversation) refusalsSent(journal *session.Log, batch []*delivery.Delivery, stored bool) {
	if stored {
		c.settle(batch)
	} else {
		leaveAll(batch)
	}
	c.mu.Lock()
	c.refusing = false
	c.mu.Unlock()
	c.commitRefusals(journal)
	c.rest()
}
