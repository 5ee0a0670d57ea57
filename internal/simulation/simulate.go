package simulation

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // to reach the client's timers

	"agenthost/internal/simulation/memnats"

	"github.com/rs/zerolog"
)

// timerPool is what nats.go has as such.
type timerPool struct{ p sync.Pool }

// timers are those that nats.go uses again: none may cross from one bubble to another.
//
//go:linkname timers github.com/nats-io/nats%2ego.globalTimerPool
var timers timerPool

// Simulate runs a plan. lines, which may be nil, takes the trace line by line.
func Simulate(t *testing.T, p Plan, log zerolog.Logger, lines func(string)) (r Result) {
	t.Helper()
	streams := provisioned(t)
	timers.p = sync.Pool{}
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p, streams, log, lines)
		if trouble := w.run(); trouble != "" {
			r.Violations = append(r.Violations, trouble)
		}
		w.end()
		w.dump("AGENT_SESSIONS")
		w.dump("AGENT_OUTBOUND")
		r.Violations = append(r.Violations, w.violations()...)
		r.Fired, r.Steps, r.Lasted, r.Inputs = w.fired, w.steps, time.Since(w.began), len(w.said)
		r.Commits = len(w.server.Messages("AGENT_SESSIONS"))
		r.Trace = w.trace.Sum64()
	})
	return r
}

// Alone makes the order of goroutines follow from what they do: one processor, and no
// collection of garbage while they run. It returns the function that undoes it.
func Alone() (undo func()) {
	procs, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	}
}

var (
	streamsOnce sync.Once
	streamsMade []memnats.StreamConfig
)
