package conversation

import (
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// send publishes after everything that was sent before it is stored.
func (c *Conversation) send(b *outbox.Batch) { c.out.Send(b, c) }

// Post publishes the next reply of the outbox.
func (c *Conversation) Post(reply *run.Reply, t tracing.Context) (waits bool) {
	if bus.StoredSubject(reply.Subject) {
		c.publish(reply, t, nil)
		return true
	}
	c.publish(reply, t, func(bool) {})
	return false
}

// Posted lets go of the conversation when the outbox was the last to do anything.
func (c *Conversation) Posted() { c.rest() }

// publish sends a reply. done, or else Stored of the outbox, is called once it is stored, or when
// the host stops before that; for what is kept in no stream at once.
func (c *Conversation) publish(reply *run.Reply, t tracing.Context, done func(stored bool)) {
	if reply.Subject == "" {
		done(true)
		return
	}
	if !bus.ReplySubject(reply.Subject) { // a log of version 0.1 may have it
		c.Log().Warn().Str("subject", reply.Subject).Str("id", reply.ID).Msg("drop reply: its subject is not one for others to name")
		done(true)
		return
	}
	msg := &nats.Msg{
		Subject: reply.Subject, Data: reply.Envelope,
		Header: bus.Header("Content-Type", "application/json", bus.SessionKeyHeader, string(c.Key), nats.MsgIdHdr, reply.ID),
	}
	t.Set(msg.Header)
	if !bus.StoredSubject(reply.Subject) {
		delete(msg.Header, nats.MsgIdHdr)
		if err := c.Agent.Parts.NC.PublishMsg(msg); err != nil {
			c.Log().Warn().Err(err).Str("subject", reply.Subject).Msg("publish result")
		}
		done(true)
		return
	}
	crash.Point("before-publish")
	c.Agent.Parts.Publisher.Publish(msg, func(_ uint64, again bool, err error) {
		crash.Point("after-publish")
		stored := !errors.Is(err, publishing.ErrClosed) && !errors.Is(err, nats.ErrConnectionClosed)
		if err == nil && !again {
			c.Agent.Parts.CountOutbound(c.Agent.ID, c.Agent.Now(), reply)
		}
		if stored && err != nil {
			c.Agent.Parts.BuryLetter(c.Agent.Parts.Undeliverable(c.Agent.ID, reply, msg.Header, err), func() {})
		}
		if done == nil {
			c.out.Stored(stored, c)
		} else {
			done(stored)
		}
	})
}

// catchUp publishes again, in order, what the log has replied from a commit on: the last must
// not overtake those of messages that are still to come again. If the oldest of them is
// missing, neither must those before.
func (c *Conversation) catchUp(journal *session.Log, from uint64) error {
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
	c.caughtUp.Add(unsent.CaughtUp{Plugins: min(left.First, from), First: from, Last: slices.Max(commits)})
	c.mu.Unlock()
	for _, out := range left.Batches {
		out.End = func(bool) {}
		c.send(out)
	}
	return nil
}

// answeredAgain publishes again what was replied since an answer was taken, by an owner that
// may have died before it was stored: nothing else may come again for it.
func (c *Conversation) answeredAgain(journal *session.Log, it *message.Item, seq uint64) error {
	c.Agent.Parts.Tell(it.Origin.Route, nil)
	c.mu.Lock()
	looked := seq == 0 || c.caughtUp.Has(seq)
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
func (c *Conversation) answerAgain(journal *session.Log, it *message.Item, seq uint64) error {
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
func (c *Conversation) sendAgain(journal *session.Log, seq uint64, again *message.Item) error {
	c.mu.Lock()
	caughtUp, forPlugins := c.caughtUp.Has(seq), c.caughtUp.ForPlugins(seq)
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
func (c *Conversation) acknowledgement(it *message.Item) *outbox.Batch {
	back := []*delivery.Delivery{it.Delivery}
	return &outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(back)
		} else {
			message.LeaveAll(back)
		}
	}}
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
