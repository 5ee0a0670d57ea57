package bustest

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats-server/v2/server/ats"
)

// Bubble runs fn on a fake clock, with the server of Open inside it: hours of
// ack waits and expiry pass in no time. What fn opens must not have a port,
// and tests that use Bubble must not run in parallel with others.
//
// It rests on two internals of NATS, named below; TestBubble tells when a new
// release no longer has them.
func Bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	ats.Register() // the server's clock goroutine stays outside: its ticker holds time still
	t.Cleanup(ats.Unregister)
	// The client keeps timers in a pool, and one may not cross bubbles.
	// A pool is empty after two collections.
	emptyPools := func() { runtime.GC(); runtime.GC() }
	emptyPools()
	t.Cleanup(emptyPools)
	synctest.Test(t, fn)
}
