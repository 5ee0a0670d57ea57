//go:build long

package host_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"
)

// The rate limit that one session met keeps the other away, too.
func TestRateLimitIsShared(t *testing.T) {
	t.Parallel()
	const wait = 5 * time.Second // the second message may be late on a busy machine
	var mu sync.Mutex
	var at []time.Time
	first := make(chan struct{})
	srv := modelServer(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		if n == 1 {
			w.Header().Set("Retry-After", fmt.Sprint(wait.Seconds()))
			w.WriteHeader(http.StatusTooManyRequests)
			close(first)
			return
		}
		speaks(w)
	})
	h, _ := start(t, served(t, srv))
	out := outbound(t, h.Bus().NC, 2)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	<-first
	waittest.Until(t, "the model is parked", func() bool { return !modelOf(t, h).Parked.IsZero() })
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "bob", Text: "hi"})
	for _, r := range out() {
		if r.Text != "fine" {
			t.Errorf("got %+v", r)
		}
	}
	if len(at) != 3 || at[1].Sub(at[0]) < wait {
		t.Errorf("the model was asked at %v, want two calls %v after the first", at, wait)
	}
}
