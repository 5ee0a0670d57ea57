package bustest

import (
	"context"
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

// Context ends with the test, and after a minute.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventuallyWithin)
	t.Cleanup(cancel)
	return ctx
}
