package control

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Requests that come while a host stops neither end it nor outlast it.
func TestRequestsWhileWaiting(t *testing.T) {
	t.Parallel()
	for range 200 {
		var r requests
		var running atomic.Int64
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for r.begin() {
					running.Add(1)
					running.Add(-1)
					r.done()
				}
			})
		}
		r.wait()
		if n := running.Load(); n != 0 {
			t.Fatalf("%d requests are in progress after wait", n)
		}
		callers.Wait()
		if r.begin() {
			t.Fatal("a request begins after wait")
		}
	}
}
