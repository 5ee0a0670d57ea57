package bustest

import (
	"testing"
	"time"
)

// eventuallyWithin is generous: a busy machine is no fault.
const eventuallyWithin = time.Minute

// Eventually waits until a condition holds, for a minute at most.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(eventuallyWithin)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", eventuallyWithin, what)
		}
	}
}
