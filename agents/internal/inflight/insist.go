package inflight

import (
	"errors"
	"time"
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
