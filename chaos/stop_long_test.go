//go:build unix && long

package chaos_test

import (
	"syscall"
	"testing"
	"time"
)

func TestStopLeavesTheRest(t *testing.T) {
	t.Parallel()
	w, m, h := busy(t, 5*time.Second, "--grace", "1s")
	h.signal(syscall.SIGTERM)
	begun := time.Now()
	if code := h.awaitExit(patience); code != 0 {
		t.Errorf("the host ended with code %d", code)
	}
	took := time.Since(begun)
	if took > 5*time.Second {
		t.Errorf("a grace of 1s was %v", took)
	}
	m.delay.Store(0)
	h.start()
	w.audit()
	t.Logf("stopped in %v, the next start did the rest: %s", took.Round(time.Millisecond), w.summary())
}

// A host that stops in good order has not failed, however often it does so in
// the middle of a run.
func TestStopsAreNoFailures(t *testing.T) {
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m, h := busyIn(t, open, time.Hour, "--grace", "0s")
			const stops = 8 // five failures would make a dead letter
			for n := range stops {
				await(t, "all runs", func() bool { return m.calling.Load() == inFlight })
				h.signal(syscall.SIGTERM)
				if code := h.awaitExit(patience); code != 0 {
					t.Errorf("the host ended with code %d", code)
				}
				await(t, "the end of all calls", func() bool { return m.calling.Load() == 0 })
				if n == stops-1 {
					m.delay.Store(0)
				}
				h.start()
			}
			w.audit()
			t.Logf("stopped %d times: %s", stops, w.summary())
		})
	}
}
