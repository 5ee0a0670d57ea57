package bustest

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // to reach the server's clock

	_ "github.com/nats-io/nats-server/v2/server/ats"
)

// serverTime is the server's clock for the age of messages; serverTimeUsers counts
// the stores that need it to be updated.
var (
	//go:linkname serverTime github.com/nats-io/nats-server/v2/server/ats.utime
	serverTime atomic.Int64
	//go:linkname serverTimeUsers github.com/nats-io/nats-server/v2/server/ats.refs
	serverTimeUsers atomic.Int64
)

// Bubble runs fn on a fake clock, with the server of Open inside it: hours of
// ack waits and expiry pass in no time. What fn opens must not have a port,
// and tests that use Bubble must not run in parallel with others: one that does panics.
//
// It rests on internals of NATS, which are named here and above; TestBubble
// fails when a new release no longer has them.
func Bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Setenv("AGENTHOST_BUBBLE", "1") // which a test that runs in parallel may not: a timer of the client could cross
	// The server's goroutine that sets its time would hold time still in the
	// bubble, and outside tell it another: with one user it is not started.
	serverTimeUsers.Add(1)
	t.Cleanup(func() { serverTimeUsers.Add(-1) })
	// The client keeps timers in a pool, and one may not cross bubbles.
	// A pool is empty after two collections.
	emptyPools := func() { runtime.GC(); runtime.GC() }
	emptyPools()
	t.Cleanup(emptyPools)
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(setServerTime())
		fn(t)
	})
}

// mostTime is how long the time of a bubble goes on: a test that waits for ever
// ends then, as one whose goroutines all wait does without a server.
const mostTime = 60 * 24 * time.Hour

// setServerTime sets the server's clock to the time of the bubble until it is stopped.
func setServerTime() (stop func()) {
	serverTime.Store(time.Now().UnixNano())
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for range mostTime / time.Second {
			select {
			case now := <-tick.C:
				serverTime.Store(now.UnixNano())
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
