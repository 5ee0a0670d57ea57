package simulation

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
	_ "unsafe" // to reach the client's timers

	"agenthost/internal/simulation/memnats"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// timerPool is what nats.go has as such.
type timerPool struct{ p sync.Pool }

// clientTimers are those that nats.go uses again: none may cross from one bubble to another.
//
//go:linkname clientTimers github.com/nats-io/nats%2ego.globalTimerPool
var clientTimers timerPool

// globalIDs is what nuid has as such.
type globalIDs struct {
	sync.Mutex
	*nuid.NUID
}

// ids are those of runs: they are to follow from the seed.
//
//go:linkname ids github.com/nats-io/nuid.globalNUID
var ids *globalIDs

// Simulate runs a plan. lines, which may be nil, takes the trace line by line.
func Simulate(t *testing.T, p Plan, log zerolog.Logger, lines func(string)) (r Result) {
	t.Helper()
	streams := provisioned(t)
	clientTimers.p = sync.Pool{}
	cryptotest.SetGlobalRandom(t, p.Seed)
	seedChance(p.Seed << 20)
	ids.NUID = nuid.New()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p, streams, log, lines)
		if trouble := w.run(); trouble != "" {
			r.Violations = append(r.Violations, trouble)
		}
		w.end()
		w.dump("AGENT_SESSIONS")
		w.dump("AGENT_OUTBOUND")
		r.Violations = append(append(r.Violations, w.violations()...), w.untimely()...)
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
