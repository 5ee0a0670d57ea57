package host_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/host"
	"agenthost/internal/waittest"
)

// A sseEvent is one server-sent event.
type sseEvent struct{ id, name, data string }

// listen reads events until the returned function is called, which returns all of
// them.
func listen(t testing.TB, h *host.Host, token, query, last string) (events chan sseEvent, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.HTTP()+"/api/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the goroutine below does
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("events: got %d", res.StatusCode)
	}
	events = make(chan sseEvent, 10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(events)
		defer res.Body.Close()
		one := sseEvent{}
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				one.id = value
			case "event":
				one.name = value
			case "data":
				one.data = value
			case "":
				if value == "alive" {
					events <- sseEvent{name: "comment"}
				} else if one.name != "" {
					events <- one
				}
				one = sseEvent{}
			}
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return events, stop
}

// await reads events until one is as it should be, and returns it with those before.
func await(t testing.TB, events chan sseEvent, what string, is func(sseEvent) bool) (all []sseEvent) {
	t.Helper()
	end := time.After(waittest.Within)
	for {
		select {
		case e, open := <-events:
			if !open {
				t.Fatalf("%s: the events have ended after %+v", what, all)
			}
			if all = append(all, e); is(e) {
				return all
			}
		case <-end:
			t.Fatalf("%s: it does not come, but %+v", what, all)
		}
	}
}

func named(name string, parts ...string) func(sseEvent) bool {
	return func(e sseEvent) bool {
		return e.name == name && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.data, p) })
	}
}

// A client is told when its place is no place of the streams: what it has missed is not
// known.
func TestPlaceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for _, last := range []string{"garbage", "1", "1-1-1", "-", "-1-2", "18446744073709551615-1"} {
		for query, header := range map[string]string{"": last, "?after=" + last: ""} {
			events, stop := listen(t, h, adminToken, query, header)
			if got := await(t, events, "the beginning", func(e sseEvent) bool { return e.name != "comment" }); got[len(got)-1].name != "reset" {
				t.Errorf("%s after %q: got %+v", query, last, got)
			}
			stop()
		}
	}
}

// Hosts tell of breakers, dead letters and reloads as well, and a token for one agent
// hears of no other.
func TestEventsOfSomeAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	all, _ := listen(t, h, adminToken, "", "")
	some, _ := listen(t, h, someToken, "", "")
	for _, events := range []chan sseEvent{all, some} {
		await(t, events, "the stream has begun", named("hello"))
	}
	for _, agent := range []string{"other", "demo"} {
		publish(t, h.Bus().NC, bus.EventsPrefix+agent+".dead", map[string]any{"agent": agent, "reason": "broken\nline"})
	}
	if got := await(t, all, "the alarm", named("alarm", `"demo"`)); !slices.ContainsFunc(got, named("alarm", `"other"`)) {
		t.Errorf("got %+v", got)
	}
	if got := await(t, some, "the alarm", named("alarm", `"demo"`)); slices.ContainsFunc(got, func(e sseEvent) bool { return strings.Contains(e.data, "other") }) {
		t.Errorf("a token for demo hears of others: %+v", got)
	}
	for query, code := range map[string]int{"?agent=other": 404, "?agent=demo": 200, "?session=demo/dm/ana": 400, "?agents=demo": 400, "?agent=demo&session=x": 400} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://"+h.HTTP()+"/api/events"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+someToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != code {
			t.Errorf("%s: got %d, want %d", query, res.StatusCode, code)
		}
	}
}
