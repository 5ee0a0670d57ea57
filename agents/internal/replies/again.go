package replies

import (
	"slices"

	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/run"
	"agenthost/session"
)

// finder finds what of the log no stream has.
func (s *Sender) finder() unsent.Finder { return unsent.Finder{Session: s.Session} }

// CaughtUp reports whether the replies of a commit were sent again already.
func (s *Sender) CaughtUp(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caughtUp.Has(seq)
}

// CatchUp publishes again, in order, what the log has replied from a commit on: the last must
// not overtake those of messages that are still to come again. If the oldest of them is
// missing, neither must those before.
func (s *Sender) CatchUp(journal *session.Log, from uint64) error {
	commits := journal.RepliedSince(from)
	var left unsent.Backlog
	err := s.Insist(func() (err error) {
		left, err = s.finder().Backlog(commits, journal.RepliedBefore(commits[0]))
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.caughtUp.Add(unsent.CaughtUp{Plugins: min(left.First, from), First: from, Last: slices.Max(commits)})
	s.mu.Unlock()
	for _, out := range left.Batches {
		out.End = func(bool) {}
		s.Send(out)
	}
	return nil
}

// Since publishes again what was replied since a commit, unless that was done already.
func (s *Sender) Since(journal *session.Log, seq uint64) error {
	if seq == 0 || s.CaughtUp(seq) || len(journal.RepliedSince(seq)) == 0 {
		return nil
	}
	return s.CatchUp(journal, seq)
}

// Again publishes those replies of the run that a commit has ended which the stream
// does not have, and then what end ends with: it answers in. The stream would drop what it
// knows, but a subscriber of the subject would see it twice.
func (s *Sender) Again(journal *session.Log, seq uint64, in run.Input, end *outbox.Batch) error {
	s.mu.Lock()
	caughtUp, forPlugins := s.caughtUp.Has(seq), s.caughtUp.ForPlugins(seq)
	s.mu.Unlock()
	if caughtUp {
		s.Send(end)
		return nil
	}
	var missing []*outbox.Batch
	err := s.Insist(func() (err error) {
		missing, err = s.finder().OfCommits(journal.RepliedWith(seq))
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range missing {
		if forPlugins { // those are on their way
			m.Replies = slices.DeleteFunc(m.Replies, unsent.ForPlugins)
		}
		end.Replies, end.Trace = append(end.Replies, m.Replies...), m.Trace
	}
	if end.Trace == (tracing.Context{}) {
		end.Trace = tracing.Of([]run.Input{in})
	}
	s.Send(end)
	return nil
}
