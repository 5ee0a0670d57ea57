package inflight

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/parts"
)

// What NATS cannot be asked for now is asked for again, with growing pauses, until the
// host stops.
func TestInsist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work, stop := context.WithCancel(t.Context())
		a := agentOf(agents.Config{}, parts.Options{})
		a.Work = work
		s := Session{Agent: a, Key: "web/dm/ann"}
		start, tries := time.Now(), 0
		err := s.Insist(func() error {
			if tries++; tries < 4 {
				return errors.New("no answer")
			}
			return nil
		})
		if err != nil || time.Since(start) != 700*time.Millisecond {
			t.Errorf("got %v after %d tries in %s", err, tries, time.Since(start))
		}
		time.AfterFunc(time.Minute, stop)
		if err := s.Insist(func() error { return errors.New("no answer") }); !errors.Is(err, ErrStopping) {
			t.Errorf("got %v", err)
		}
	})
}
