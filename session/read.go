package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"agenthost/bus"
)

// Commits reads logs, for those who own none of them: all that was published on
// subject, which may have wildcards, in the order in which it was. What no host
// has written is passed over.
func (s *Store) Commits(ctx context.Context, subject string) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		for rec, err := range s.Reader.Tail(ctx, bus.SessionsStream, subject, 1) {
			if err != nil {
				yield(Commit{}, err)
				return
			}
			c, err := s.decode(ctx, rec)
			if errors.Is(err, errForeign) {
				continue
			}
			if err != nil {
				yield(Commit{}, fmt.Errorf("commit %d: %w", rec.Seq, err))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
