package host_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	"agenthost/internal/waittest"
)

// Whatever a client says it has heard last, it hears what happens from then on.
func TestEventsAfterAnything(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for i, last := range []string{
		"x", "-", "1", "-1-1", "1-", "-1", "1-1-1", "0-0", "1e3-1", "0x1-1", "5000-5000", "19999-0", "18446744073709551615-18446744073709551615", "18446744073709551616-1",
		"1-1;drop", "9999999999999999999999-1", "\u00e9-1",
	} {
		events, stop := listen(t, h, adminToken, "?agent=demo", last)
		await(t, events, "the stream after "+last+" has begun", func(e sseEvent) bool { return e.name == "hello" || e.name == "reset" })
		orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "demo", "text": "hello", "session": fmt.Sprint("s", i)})
		await(t, events, "what happens after "+last, named("session", fmt.Sprintf("/s%d\"", i)))
		stop()
	}
}

// More clients than a host takes are told so, and the others hear all.
func TestManyClientsOfEvents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	codes := map[int]int{}
	var leave []func() error
	var clients sync.WaitGroup
	for i := range 400 {
		clients.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.HTTP()+"/api/events", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+[]string{readToken, readToken, readToken, adminToken}[i%4]) // 300 of one
			res, err := http.DefaultClient.Do(req)                                                                //nolint:bodyclose // it stays open, until leave
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			codes[res.StatusCode]++
			leave = append(leave, res.Body.Close)
		})
	}
	clients.Wait()
	if want := map[int]int{http.StatusOK: 228, http.StatusTooManyRequests: 172}; !maps.Equal(codes, want) {
		t.Errorf("got %v, want %v: 128 of one token, and all 100 of the other", codes, want)
	}
	if a := askAPI(t, h, "/api/agents"); a.code != http.StatusOK {
		t.Errorf("meanwhile: got %d", a.code)
	}
	for _, one := range leave {
		_ = one()
	}
	waittest.Until(t, "there is room again", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.HTTP()+"/api/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+readToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}
