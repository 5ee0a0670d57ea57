//go:build unix && long

package chaos_test

import (
	"syscall"
	"testing"
	"time"
)

const inFlight = 50

// busy is a host with 50 runs in flight whose model takes its time.
func busy(t testing.TB, delay time.Duration, args ...string) (*world, *model, *process) {
	t.Helper()
	return busyIn(t, external, delay, args...)
}

func busyIn(t testing.TB, open func(testing.TB, string) *world, delay time.Duration, args ...string) (*world, *model, *process) {
	t.Helper()
	m := startModel(t, delay)
	w := open(t, m.url)
	h := newHost(t, w.config, "a", args...)
	h.start()
	w.hold(talk{channel: chat, people: inFlight, each: 1})
	await(t, "all runs", func() bool { return m.calling.Load() == inFlight })
	return w, m, h
}

func TestStopFinishesRuns(t *testing.T) {
	t.Parallel()
	w, m, h := busy(t, 2*time.Second)
	h.signal(syscall.SIGTERM)
	begun := time.Now()
	if code := h.awaitExit(patience); code != 0 {
		t.Errorf("the host ended with code %d", code)
	}
	took := time.Since(begun)
	if asked := m.asked.Load(); asked != inFlight {
		t.Errorf("the model was asked %d times, want %d", asked, inFlight)
	}
	w.audit() // nobody serves any more
	t.Logf("stopped in %v: %s", took.Round(time.Millisecond), w.summary())
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	w, m, h := busy(t, 5*time.Second)
	h.signal(syscall.SIGTERM)
	await(t, "the host to stop", func() bool { return h.logged("stopping") })
	h.signal(syscall.SIGTERM)
	begun := time.Now()
	code := h.awaitExit(patience)
	took := time.Since(begun)
	if code == 0 || took > time.Second {
		t.Errorf("the host ended %v after the second signal, with code %d", took, code)
	}
	m.delay.Store(0)
	h.start()
	w.audit()
	t.Logf("ended %v after the second signal, with code %d: %s", took.Round(time.Millisecond), code, w.summary())
}
