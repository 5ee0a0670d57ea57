package inflight

import (
	"errors"
	"time"

	"agenthost/bus/records"
	"agenthost/session"
)

// ErrStopping ends work that the host has no more time for.
var ErrStopping = errors.New("host is stopping")

// Insist reads earlier replies until it can or the host stops.
func (s Session) Insist(read func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := read()
		if err == nil {
			return nil
		}
		s.Few().Warn().Err(err).Msg("earlier replies cannot be read; trying again")
		select {
		case <-time.After(wait):
		case <-s.Agent.Work.Done():
			return ErrStopping
		}
	}
}

// Said is what a commit has said, nil where the session was deleted. It insists on each: of many
// commits, at a server that is far away or busy, one try may fail time and again, and must not take
// with it what the others have brought.
func (s Session) Said(seq uint64) (said *session.Said, err error) {
	err = s.Insist(func() error {
		got, err := s.Agent.Parts.Store.Said(s.Agent.Work, seq)
		if errors.Is(err, records.ErrNotFound) {
			return nil
		}
		said = &got
		return err
	})
	return said, err
}
