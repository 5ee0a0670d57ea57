package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// unsent is the first commit whose replies an owner before may not have
// published, 0 if there is none: that of the oldest message that has come
// again, or just the last, which may be of inputs that only the log held.
// Called with the lock held.
func (c *conversation) unsent(journal *session.Log) uint64 {
	tried, from := false, journal.Replied()
	for _, it := range c.queue {
		if !it.tried {
			continue
		}
		tried = true
		if seq, _ := journal.Seen(it.input.ID); seq > 0 {
			from = min(from, seq)
		}
	}
	if !tried {
		return 0
	}
	return from
}

// catchUp publishes again, in order, what commits have replied: the last must
// not overtake those of messages that are still to come again.
func (c *conversation) catchUp(commits []uint64) error {
	for _, seq := range commits {
		if err := c.insist(func() error { return c.sendAgain(seq, nil) }); err != nil {
			return err
		}
		c.mu.Lock()
		c.caughtUp = max(c.caughtUp, seq)
		c.mu.Unlock()
	}
	return nil
}

// insist reads earlier replies until it can or the host stops.
func (c *conversation) insist(read func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := read()
		if err == nil {
			return nil
		}
		c.few().Warn().Err(err).Msg("earlier replies cannot be read; trying again")
		select {
		case <-time.After(wait):
		case <-c.r.work.Done():
			return errStopping
		}
	}
}

// missing are the replies of a commit that the stream does not have, and the
// trace they go in if the commit tells.
func (c *conversation) missing(seq uint64) (replies []*run.Reply, t trace, err error) {
	ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
	defer cancel()
	said, err := c.r.parts.Store.Said(ctx, seq)
	if errors.Is(err, bus.ErrNotFound) { // somebody deleted the session
		return nil, t, nil
	}
	if err != nil {
		return nil, t, err
	}
	replies, err = c.unpublished(ctx, said.Replies, said.At)
	return replies, traceOf(said.Inputs), err
}

// answerAgain publishes what the log has as the answer to it.
func (c *conversation) answerAgain(it *item, seq uint64) error {
	if it.delivery == nil {
		return nil
	}
	err := c.insist(func() error { return c.sendAgain(seq, it) })
	if err != nil {
		it.delivery.Leave()
	}
	return err
}

// sendAgain publishes those replies of a commit that the stream does not have,
// and then settles what has come again, if anything has. The stream would drop
// what it knows, but who listens without one would see it twice.
func (c *conversation) sendAgain(seq uint64, again *item) error {
	c.mu.Lock()
	sent := seq <= c.caughtUp // and its message waits behind it
	c.mu.Unlock()
	var back []*bus.Delivery
	if again != nil {
		back = append(back, again.delivery)
	}
	out := &outgoing{end: func(stored bool) {
		if stored {
			c.settle(back)
		} else {
			leaveAll(back)
		}
	}}
	if !sent {
		var err error
		if out.replies, out.trace, err = c.missing(seq); err != nil {
			return err
		}
		if again != nil && out.trace == (trace{}) {
			out.trace = traceOf([]run.Input{again.input})
		}
	}
	c.send(out)
	return nil
}

// searchMost bounds the search for a reply while the stream itself would drop
// a second copy.
const searchMost = 1000

// unpublished are the replies that their stream does not have.
func (c *conversation) unpublished(ctx context.Context, replies []run.Reply, since time.Time) ([]*run.Reply, error) {
	most := searchMost
	if time.Since(since) > bus.DedupeWindow-time.Minute {
		most, since = 0, since.Add(-10*time.Second) // clocks of a cluster differ
	}
	var left []*run.Reply
	for i := range replies {
		reply := &replies[i]
		if !bus.StoredSubject(reply.Subject) {
			left = append(left, reply) // it may have reached nobody
			continue
		}
		found, err := c.r.parts.Reader.Published(ctx, reply.Subject, reply.ID, since, most)
		if err != nil {
			return nil, fmt.Errorf("look for reply %s: %w", reply.ID, err)
		}
		if !found {
			left = append(left, reply)
		}
	}
	return left, nil
}
