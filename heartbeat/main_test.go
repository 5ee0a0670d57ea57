package heartbeat_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) {
	bustest.CollectLess()
	bustest.VerifyNoLeaks(m)
}

// A world is a bus with its streams.
type world struct {
	t *testing.T
	*bus.Bus
	publisher *publishing.Publisher
	reader    *records.Reader
}

// newWorld makes one in an empty folder; newWorldIn in one that may hold
// another's streams. The returned function ends it, as the end of the test does.
func newWorld(t *testing.T) *world {
	w, _ := newWorldIn(t, bustest.Config(t))
	return w
}

func newWorldIn(t *testing.T, cfg bus.Config) (*world, func()) {
	t.Helper()
	b, err := natsserver.Open(t.Context(), bus.Options{Name: "test", Log: zerolog.Nop(), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Ready(t.Context()), streams.Provision(t.Context(), b.JS, 1, 1, zerolog.Nop())); err != nil {
		t.Fatal(err)
	}
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Bus: b, publisher: publisher, reader: records.NewReader(b.JS)}
	stop := w.run(publisher.Run)
	ended := false
	end := func() {
		if !ended {
			ended = true
			stop()
			b.Close()
		}
	}
	t.Cleanup(end)
	return w, end
}

// run runs something until the returned function is called, or the test ends.
func (w *world) run(do func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = do(ctx) }()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return stop
}

// routes are the messages that have come to an agent.
func (w *world) routes(agent string) []bus.Route {
	w.t.Helper()
	var list []bus.Route
	for stream, subject := range map[string]string{bus.RoutesStream: bus.RoutePrefix + agent, bus.SchedulesStream: bus.DuePrefix + agent} {
		for rec, err := range w.reader.Tail(context.Background(), stream, subject, 1) {
			if err != nil {
				w.t.Fatal(err)
			}
			route, err := bus.DecodeRoute(rec.Data)
			if err != nil {
				w.t.Fatal(err)
			}
			list = append(list, route)
		}
	}
	return list
}

// ids are the firings among them, each once.
func ids(routes []bus.Route) map[string]int {
	seen := map[string]int{}
	for _, r := range routes {
		seen[r.ID]++
	}
	return seen
}

func read[T any](w *world, stream, subject string) []T {
	w.t.Helper()
	var list []T
	for rec, err := range w.reader.Tail(context.Background(), stream, subject, 1) {
		var v T
		if err == nil {
			err = json.Unmarshal(rec.Data, &v)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func (w *world) stored(subject, text string) {
	w.t.Helper()
	if _, err := w.JS.Publish(w.t.Context(), subject, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stream(name string) jetstream.Stream {
	w.t.Helper()
	s, err := w.JS.Stream(context.Background(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("it does not come to this: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
