package agents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"
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
		if seq, _ := it.seen(journal); seq > 0 {
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
	var missing []*outbox.Batch
	err := c.insist(func() (err error) {
		missing, err = c.missing(commits)
		return err
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.caughtUp = max(c.caughtUp, slices.Max(commits))
	c.mu.Unlock()
	for _, out := range missing {
		out.End = func(bool) {}
		c.send(out)
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

// missing are the replies of commits that no stream has, those of each commit in
// the trace of its run if the commit tells.
func (c *conversation) missing(commits []uint64) (missing []*outbox.Batch, err error) {
	ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
	defer cancel()
	var replies []earlier
	for _, seq := range commits {
		said, err := c.r.parts.Store.Said(ctx, seq)
		if errors.Is(err, records.ErrNotFound) { // the session was deleted
			continue
		}
		if err != nil {
			return nil, err
		}
		out := &outbox.Batch{Trace: tracing.Of(said.Inputs)}
		missing = append(missing, out)
		for i := range said.Replies {
			replies = append(replies, earlier{&said.Replies[i], said.At, out})
		}
	}
	return missing, c.unpublished(ctx, replies)
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
// and then settles what has come again. The stream would drop what it knows, but
// a subscriber of the subject would see it twice.
func (c *conversation) sendAgain(seq uint64, again *item) error {
	c.mu.Lock()
	caughtUp := seq <= c.caughtUp
	c.mu.Unlock()
	out := c.acknowledgement(again)
	if !caughtUp {
		missing, err := c.missing([]uint64{seq})
		if err != nil {
			return err
		}
		for _, m := range missing {
			out.Replies, out.Trace = m.Replies, m.Trace
		}
		if out.Trace == (tracing.Context{}) {
			out.Trace = tracing.Of([]run.Input{again.input})
		}
	}
	c.send(out)
	return nil
}

// acknowledgement settles it once all that is sent before is stored.
func (c *conversation) acknowledgement(it *item) *outbox.Batch {
	back := []*delivery.Delivery{it.delivery}
	return &outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(back)
		} else {
			leaveAll(back)
		}
	}}
}

// searchMost bounds the search for a reply while the stream itself would drop
// a second copy.
const searchMost = 1000

// An earlier reply may have been published, at that time or later. If it was not,
// it goes out with out.
type earlier struct {
	reply *run.Reply
	at    time.Time
	out   *outbox.Batch
}

// unpublished adds the replies that no stream has to what they go out with. Each
// stream is searched once, however many there are.
func (c *conversation) unpublished(ctx context.Context, replies []earlier) error {
	bySubject := map[string][]earlier{}
	for _, s := range replies {
		if bus.StoredSubject(s.reply.Subject) {
			bySubject[s.reply.Subject] = append(bySubject[s.reply.Subject], s)
		}
	}
	missing := map[string]bool{}
	for subject, list := range bySubject {
		left, err := c.notStored(ctx, subject, list)
		if err != nil {
			return fmt.Errorf("look for earlier replies on %s: %w", subject, err)
		}
		maps.Copy(missing, left)
	}
	for _, s := range replies {
		if missing[s.reply.ID] || !bus.StoredSubject(s.reply.Subject) { // the latter may have reached no subscriber
			s.out.Replies = append(s.out.Replies, s.reply)
		}
	}
	return nil
}

// notStored are the ids of those replies on subject that its stream does not
// have.
func (c *conversation) notStored(ctx context.Context, subject string, replies []earlier) (map[string]bool, error) {
	search := records.Search{Subject: subject, Since: replies[0].at, Until: replies[0].at, Most: searchMost}
	ids := make([]string, len(replies))
	for i, s := range replies {
		ids[i] = s.reply.ID
		if s.at.Before(search.Since) {
			search.Since = s.at
		}
		if s.at.After(search.Until) {
			search.Until = s.at
		}
	}
	if time.Since(search.Since) > bus.DedupeWindow-time.Minute {
		search.Most, search.Since = 0, search.Since.Add(-10*time.Second) // clocks of a cluster differ
	}
	return c.r.parts.Reader.NotStored(ctx, search, ids)
}
