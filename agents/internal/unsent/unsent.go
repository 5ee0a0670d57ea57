// Package unsent finds which replies of a session's log have not reached their streams: a host
// may have died between the commit and the publication.
package unsent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
)

// A Finder finds those of one session.
type Finder struct{ inflight.Session }

// OfCommits are the replies of commits that no stream has, those of each commit in
// the trace of its run if the commit tells.
func (f Finder) OfCommits(commits []uint64) (missing []*outbox.Batch, err error) {
	found, err := f.look(commits)
	return batches(found), err
}

// look reads commits, and which of their replies no stream has.
func (f Finder) look(commits []uint64) (found []*commit, err error) {
	var replies []Reply
	for _, seq := range commits {
		said, err := f.Said(seq)
		if err != nil {
			return nil, err
		}
		if said == nil { // the session was deleted
			continue
		}
		c := &commit{seq: seq, at: said.At, out: &outbox.Batch{Trace: tracing.Of(said.Inputs)}}
		found = append(found, c)
		for i := range said.Replies {
			if ForPlugins(&said.Replies[i]) {
				c.forPlugins++
			}
			replies = append(replies, Reply{&said.Replies[i], said.At, c.out})
		}
	}
	return found, f.Add(f.Agent.Work, replies)
}

// ResultOf is the result of the task with that id among what commits have said, nil if none is.
func (f Finder) ResultOf(commits []uint64, id string) (result *run.Reply, err error) {
	for _, seq := range commits {
		said, err := f.Said(seq)
		if err != nil {
			return nil, err
		}
		if said == nil { // the session was deleted
			continue
		}
		for _, reply := range said.Replies {
			r := bus.Route{}
			if json.Unmarshal(reply.Envelope, &r) == nil && r.Kind == bus.RouteResult && r.InReplyTo == id {
				result = &reply // the last word is the result
			}
		}
	}
	return result, nil
}

// Answered reports whether a reply to the message with that id is among what commits have said on
// a subject.
func (f Finder) Answered(commits []uint64, id, subject string) (bool, error) {
	for _, seq := range commits {
		said, err := f.Said(seq)
		if err != nil {
			return false, err
		}
		if said == nil { // the session was deleted
			continue
		}
		for _, reply := range said.Replies {
			out := bus.Outbound{}
			if reply.Subject == subject && json.Unmarshal(reply.Envelope, &out) == nil && (out.InReplyTo == id || slices.Contains(out.Merged, id)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// searchMost bounds the search for a reply while the stream itself would drop
// a second copy.
const searchMost = 1000

// A Reply of the log may have been published, at that time or later. If it was not, it
// goes out with Out.
type Reply struct {
	Reply *run.Reply
	At    time.Time
	Out   *outbox.Batch
}

// Add adds the replies that no stream has to what they go out with. Each
// stream is searched once, however many there are.
func (f Finder) Add(ctx context.Context, replies []Reply) error {
	bySubject := map[string][]Reply{}
	for _, s := range replies {
		if bus.StoredSubject(s.Reply.Subject) {
			bySubject[s.Reply.Subject] = append(bySubject[s.Reply.Subject], s)
		}
	}
	missing := map[string]bool{}
	for subject, list := range bySubject {
		left, err := f.notStored(ctx, subject, list)
		if err != nil {
			return fmt.Errorf("look for earlier replies on %s: %w", subject, err)
		}
		maps.Copy(missing, left)
	}
	for _, s := range replies {
		if missing[s.Reply.ID] || !bus.StoredSubject(s.Reply.Subject) { // the latter may have reached no subscriber
			s.Out.Replies = append(s.Out.Replies, s.Reply)
		}
	}
	return nil
}

// Has reports whether the stream of a reply has it, which may have been published at that time
// or later. It tries until it can tell or the host stops.
func (f Finder) Has(reply *run.Reply, at time.Time) (found bool, err error) {
	err = f.Insist(func() error {
		left := &outbox.Batch{}
		err := f.Add(f.Agent.Work, []Reply{{Reply: reply, At: at, Out: left}})
		found = err == nil && len(left.Replies) == 0
		return err
	})
	return found, err
}

// notStored are the ids of those replies on subject that its stream does not
// have.
func (f Finder) notStored(ctx context.Context, subject string, replies []Reply) (map[string]bool, error) {
	search := records.Search{Subject: subject, Since: replies[0].At, Until: replies[0].At, Most: searchMost}
	ids := make([]string, len(replies))
	for i, s := range replies {
		ids[i] = s.Reply.ID
		if s.At.Before(search.Since) {
			search.Since = s.At
		}
		if s.At.After(search.Until) {
			search.Until = s.At
		}
	}
	if time.Since(search.Since) > bus.DedupeWindow-time.Minute {
		search.Most, search.Since = 0, search.Since.Add(-clockSkew)
	}
	return f.Agent.Parts.Reader.NotStored(ctx, search, ids)
}
