//go:build unix && long

package chaos_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
)

// A run that waits for a person holds no goroutine, and none of its log: less than
// a session at rest, which keeps its history.
func TestWaitingRunsAreCheap(t *testing.T) { // not parallel: it counts what the process holds
	w := askingPlan.open(t)
	startBilling(t, w.nc, 0)
	runHere(t, w.config)
	const many = 1000
	talkTo := func(word, kind string, n int) {
		for p := range n {
			w.tell(t, bus.Inbound{ID: fmt.Sprintf("%s-%d", word, p), From: fmt.Sprintf("%s%d", word, p), Text: word})
		}
		await(t, "an answer to everybody", func() bool { return len(w.heard(kind)) >= n })
		await(t, "an acknowledgement of every message", w.allAcknowledged)
	}
	talkTo("warm", bus.KindReply, 10)
	talkTo("pay", bus.KindApproval, 10)
	before := measure(w)
	talkTo("hello", bus.KindReply, many)
	resting := measure(w)
	talkTo("pays", bus.KindApproval, many)
	waiting := measure(w)
	t.Logf("goroutines: %d before, %d with %d sessions at rest, %d with as many runs that wait; heap: %d bytes a session, %d bytes a waiting run",
		before.goroutines, resting.goroutines, many, waiting.goroutines,
		(resting.heap-before.heap)/many, (waiting.heap-resting.heap)/many)
	// A worker that has nothing to do ends after a second.
	await(t, "no goroutine for each waiting run", func() bool { return runtime.NumGoroutine()-before.goroutines <= many/10 })
	if session, run := (resting.heap-before.heap)/many, (waiting.heap-resting.heap)/many; run >= session {
		t.Errorf("a waiting run holds %d bytes, a session at rest with its history %d: what waits is kept", run, session)
	}
}

// runHere runs a host in this process until the test ends.
func runHere(t testing.TB, file string) {
	t.Helper()
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	h := host.New(host.Options{Config: cfg, Name: "here", Grace: time.Second, Log: zerolog.Nop()})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	await(t, "the host", func() bool { return isClosed(h.Ready()) })
}

// A footprint is what this process holds.
type footprint struct{ goroutines, heap int }

// measure lets go of what the test itself has read, and of what is garbage.
func measure(w *world) footprint {
	w.answers.msgs, w.answers.read = nil, 0
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return footprint{goroutines: runtime.NumGoroutine(), heap: int(sample[0].Value.Uint64())}
}
