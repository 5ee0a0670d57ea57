// Package waittest waits in tests for what no event tells of.
package waittest

import (
	"testing"
	"time"
)

// Within bounds every wait: a slow machine is no reason to fail.
const Within = 60 * time.Second

const every = 20 * time.Millisecond

// Until polls a condition until it holds, and fails the test when it does not
// within Within.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(Within)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", Within, what)
		case <-tick.C:
		}
	}
}

// For waits until c delivers a value or is closed.
func For[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Within):
		t.Fatalf("not within %v: %s", Within, what)
		panic("unreachable")
	}
}
