package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
)

// An answer comes by another stream than messages, which may be taken over later. What it has
// led to, and its owner has not published, is not lost when a newer message opens the session.
func TestWhatAnAnswerHasLedToOutlivesACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		asked := w.hear()
		w.tell(messages(0, 2)...)
		w.pass()
		w.replies.hold()
		w.approve(asked.Call, "")
		w.pass()
		w.crash()
		w.holdLane(bus.RoutesStream, 10*time.Second)
		w.begin()
		w.pass()
		w.tell(messages(2, 1)...)
		w.pass()
		time.Sleep(time.Minute)
		if diff := cmp.Diff(append(messages(0, 3), "pay"), slices.Sorted(slices.Values(w.answered()))); diff != "" {
			t.Errorf("answered (-want +got):\n%s", diff)
		}
		w.settled()
		if n := paid.Load(); n != 1 {
			t.Errorf("paid %d times, want once", n)
		}
	}, has(counter(&paid)))
}
