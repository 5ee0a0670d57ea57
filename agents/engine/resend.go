package engine

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// catchUp publishes again, in order, what the log has replied from a commit on: the last must
// not overtake those of messages that are still to come again. If the oldest of them is
// missing, neither must those before.
func (c *conversation) catchUp(journal *session.Log, from uint64) error {
	commits := journal.RepliedSince(from)
	var left unsent.Backlog
	err := c.Insist(func() (err error) {
		left, err = c.unsentReplies().Backlog(commits, journal.RepliedBefore(commits[0]))
		return err
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.caughtUp.add(caughtUp{plugins: min(left.First, from), first: from, last: slices.Max(commits)})
	c.mu.Unlock()
	for _, out := range left.Batches {
		out.End = func(bool) {}
		c.send(out)
	}
	return nil
}

// answeredAgain publishes again what was replied since an answer was taken, by an owner that
// may have died before it was stored: nothing else may come again for it.
func (c *conversation) answeredAgain(journal *session.Log, it *message.Item, seq uint64) error {
	c.r.parts.Tell(it.Origin.Route, nil)
	c.mu.Lock()
	looked := seq == 0 || c.caughtUp.has(seq)
	c.mu.Unlock()
	if !looked && len(journal.RepliedSince(seq)) > 0 {
		if err := c.catchUp(journal, seq); err != nil {
			it.Delivery.Leave()
			return err
		}
	}
	c.send(c.acknowledgement(it))
	return nil
}

// answerAgain publishes what the log has as the answer to it.
func (c *conversation) answerAgain(journal *session.Log, it *message.Item, seq uint64) error {
	if it.Delivery == nil {
		return nil
	}
	err := c.Insist(func() error { return c.sendAgain(journal, seq, it) })
	if err != nil {
		it.Delivery.Leave()
	}
	return err
}

// sendAgain publishes those replies of the run that a commit has ended which the stream
// does not have, and then settles what has come again. The stream would drop what it knows, but
// a subscriber of the subject would see it twice.
func (c *conversation) sendAgain(journal *session.Log, seq uint64, again *message.Item) error {
	c.mu.Lock()
	caughtUp, forPlugins := c.caughtUp.has(seq), c.caughtUp.forPlugins(seq)
	c.mu.Unlock()
	out := c.acknowledgement(again)
	if !caughtUp {
		missing, err := c.unsentReplies().OfCommits(journal.RepliedWith(seq))
		if err != nil {
			return err
		}
		for _, m := range missing {
			if forPlugins { // those are on their way
				m.Replies = slices.DeleteFunc(m.Replies, unsent.ForPlugins)
			}
			out.Replies, out.Trace = append(out.Replies, m.Replies...), m.Trace
		}
		if out.Trace == (tracing.Context{}) {
			out.Trace = tracing.Of([]run.Input{again.Input})
		}
	}
	c.send(out)
	return nil
}

// acknowledgement settles it once all that is sent before is stored.
func (c *conversation) acknowledgement(it *message.Item) *outbox.Batch {
	back := []*delivery.Delivery{it.Delivery}
	return &outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(back)
		} else {
			message.LeaveAll(back)
		}
	}}
}
