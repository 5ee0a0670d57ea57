package replies

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
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
	sending := s.onTheirWay()
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
		out.Replies = slices.DeleteFunc(out.Replies, sending)
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
// knows, but a subscriber of the subject would see it twice. The result of a task that names
// another subject than before goes there.
func (s *Sender) Again(journal *session.Log, seq uint64, it *message.Item, end *outbox.Batch) error {
	moved, err := s.moved(journal, seq, it)
	if err != nil {
		return err
	}
	if moved != nil {
		end.Replies, end.Trace = []*run.Reply{moved}, tracing.Of([]run.Input{it.Input})
		s.Send(end)
		return nil
	}
	s.mu.Lock()
	caughtUp, forPlugins := s.caughtUp.Has(seq), s.caughtUp.ForPlugins(seq)
	s.mu.Unlock()
	if caughtUp {
		s.Send(end)
		return nil
	}
	sending := s.onTheirWay()
	var missing []*outbox.Batch
	err = s.Insist(func() (err error) {
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
		end.Replies, end.Trace = append(end.Replies, slices.DeleteFunc(m.Replies, sending)...), m.Trace
	}
	if end.Trace == (tracing.Context{}) {
		end.Trace = tracing.Of([]run.Input{it.Input})
	}
	s.Send(end)
	return nil
}

// onTheirWay tells of a reply whether this sender is sending it: the stream may not have it yet.
func (s *Sender) onTheirWay() func(*run.Reply) bool {
	list := s.out.OnTheirWay()
	return func(reply *run.Reply) bool {
		return slices.ContainsFunc(list, func(r *run.Reply) bool { return r.ID == reply.ID && r.Subject == reply.Subject })
	}
}

// moved is the result of a task that has come again and names another subject for it; nil
// where it names the same, or none.
func (s *Sender) moved(journal *session.Log, seq uint64, it *message.Item) (moved *run.Reply, err error) {
	to := it.Origin.ResultTo()
	if to == "" {
		return nil, nil
	}
	err = s.Insist(func() (err error) {
		moved, err = s.finder().ResultOf(journal.RepliedWith(seq), it.Input.ID)
		return err
	})
	if err != nil || moved == nil || moved.Subject == to {
		return nil, err
	}
	if moved.Subject = to; bus.StoredSubject(to) { // the stream may have it under its id, for another
		moved.ID += ":" + session.SID(to, s.Key)
	}
	return moved, nil
}

// Answered reports whether the run that a commit has ended answered the message with that id
// on a subject.
func (s *Sender) Answered(journal *session.Log, seq uint64, id, subject string) (bool, error) {
	return s.finder().Answered(journal.RepliedWith(seq), id, subject)
}
