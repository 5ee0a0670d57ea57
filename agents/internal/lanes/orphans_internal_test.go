package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An ended Ender notes the messages that it ends.
type ended struct {
	texts  []string
	served Served // by the fleet
	err    error  // of asking for that
}

func (e *ended) End(_ context.Context, m Message, done func()) {
	route, _ := bus.DecodeRoute(m.Data)
	e.texts = append(e.texts, route.Text)
	done()
}

func (e *ended) Bury(_ Message, done func()) { done() }

func (e *ended) Served(context.Context) (Served, error) { return e.served, e.err }

// What a program is sent stays in the stream for days. A look for tasks that no agent takes
// does not read again what an earlier one has read, and misses none that comes.
func TestLookForOrphansReadsOnce(t *testing.T) {
	ctx := t.Context()
	b := bustest.Open(t)
	if err := streams.Provision(ctx, b.JS, 1, 1, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	const results = 600
	send := func(js jetstream.JetStream, route bus.Route) {
		t.Helper()
		msg, err := bus.NewMessage(bus.RoutePrefix+"prog", route)
		if err == nil {
			_, err = js.PublishMsg(ctx, msg)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range results {
		send(b.JS, bus.Route{ID: fmt.Sprint(n), Kind: bus.RouteResult, Text: "a result"})
	}
	ender := &ended{served: Served{Hosts: 1}}
	few := zerolog.Nop()
	s := New(Options{JS: b.JS, Reader: records.NewReader(b.JS), Host: "h", Count: 1, Log: few, Few: &few, Ender: ender}, nil)
	look := func() (read uint64) {
		t.Helper()
		before := b.NC.Stats().InMsgs
		if _, err := s.lookForOrphans(ctx); err != nil {
			t.Fatal(err)
		}
		return b.NC.Stats().InMsgs - before
	}
	if n := look(); n < results {
		t.Fatalf("the first look has read %d messages", n)
	}
	if n := look(); n > 50 {
		t.Errorf("the second look has read %d messages", n)
	}
	task := func(text string, patience time.Duration) {
		t.Helper()
		send(b.JS, bus.Route{ID: text, Kind: bus.RouteDelegate, Text: text, Deadline: time.Now().Add(patience)})
	}
	task("later", time.Hour)
	task("due", -time.Second)
	look()
	task("due too", -time.Second)
	look()
	if want := []string{"due", "due too"}; !slices.Equal(ender.texts, want) {
		t.Errorf("ended %q, want %q", ender.texts, want)
	}
	config := s.stream(t, bus.RoutesStream).CachedInfo().Config
	if err := b.JS.DeleteStream(ctx, bus.RoutesStream); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreateStream(ctx, config); err != nil { // it counts from 1 again
		t.Fatal(err)
	}
	task("of the stream that was made again", -time.Second)
	look()
	if want := []string{"due", "due too", "of the stream that was made again"}; !slices.Equal(ender.texts, want) {
		t.Errorf("ended %q, want %q", ender.texts, want)
	}
}

func (s *Set) stream(t *testing.T, name string) jetstream.Stream {
	t.Helper()
	stream, err := s.JS.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// A task that another takes is left alone, and so is each while it is not known who takes it.
func TestTasksThatAreTaken(t *testing.T) {
	t.Parallel()
	away := errors.New("NATS is away")
	for name, tt := range map[string]struct {
		ender   ended
		program bool // has a consumer
	}{
		"by an agent of another host": {ender: ended{served: Served{Hosts: 2, Agents: []string{"prog"}}}},
		"it is not known by whom":     {ender: ended{err: away}},
		"by a program":                {ender: ended{served: Served{Hosts: 1}}, program: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Open(t)
			bustest.Provision(t, b.JS)
			few := zerolog.Nop()
			s := New(Options{JS: b.JS, Reader: records.NewReader(b.JS), Host: "h", Count: 1, Log: few, Few: &few, Ender: &tt.ender}, nil)
			if tt.program {
				cfg := jetstream.ConsumerConfig{Durable: "prog", FilterSubject: "agent.route.prog"}
				if _, err := b.JS.CreateConsumer(t.Context(), bus.RoutesStream, cfg); err != nil {
					t.Fatal(err)
				}
			}
			msg, err := bus.NewMessage(bus.RoutePrefix+"prog", bus.Route{ID: "1", Kind: bus.RouteDelegate, Text: "due", Deadline: time.Now().Add(-time.Second)})
			if err == nil {
				_, err = b.JS.PublishMsg(t.Context(), msg)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.lookForOrphans(t.Context()); !errors.Is(err, tt.ender.err) {
				t.Errorf("got %v, want %v", err, tt.ender.err)
			}
			if n := s.stream(t, bus.RoutesStream).CachedInfo().State.Msgs; len(tt.ender.texts) > 0 || n != 1 {
				t.Errorf("ended %q; %d messages are left, want 1", tt.ender.texts, n)
			}
		})
	}
}

// The next look begins at the first task that waits.
func TestLooked(t *testing.T) {
	t.Parallel()
	l := looked{}
	stream := &jetstream.StreamInfo{Created: time.Unix(1, 0)}
	begin := func(subjects ...string) { l.begin(stream, subjects) }
	want := func(what string, seq uint64) {
		t.Helper()
		if got := l.from["a"]; got != seq {
			t.Errorf("%s: the next look begins at %d, want %d", what, got, seq)
		}
	}
	begin("a", "b")
	l.pass("b", 100, true)
	l.pass("a", 5, false)
	want("nothing waits", 6)
	l.pass("a", 7, true)
	l.pass("a", 8, false)
	l.pass("a", 9, true)
	want("two wait", 7)
	begin("a", "b")
	want("the next look", 7)
	l.pass("a", 7, false)
	l.pass("a", 9, true)
	want("the first has ended", 9)
	begin("b")
	want("the subject is taken", 0)
	l.pass("a", 20, true)
	stream = &jetstream.StreamInfo{Created: time.Unix(2, 0)}
	begin("a", "b")
	want("the stream was made again", 0)
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	came := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	route := func(kind string, deadline time.Time) []byte {
		msg, err := bus.NewMessage("agent.route.ana", bus.Route{ID: "1", Kind: kind, Text: "do it", Deadline: deadline})
		if err != nil {
			t.Fatal(err)
		}
		return msg.Data
	}
	for name, tt := range map[string]struct {
		data []byte
		end  time.Time // zero: it is no task
	}{
		"without a deadline": {route(bus.RouteDelegate, time.Time{}), came.Add(strayFor)},
		"a deadline":         {route(bus.RouteDelegate, came.Add(time.Second)), came.Add(time.Second)},
		"one that is late":   {route(bus.RouteDelegate, came.Add(strayFor+time.Hour)), came.Add(strayFor)},
		"a result":           {route(bus.RouteResult, came), time.Time{}},
		"no message":         {[]byte("garbage"), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if end, ok := endOf(tt.data, came); ok != !tt.end.IsZero() || !end.Equal(tt.end) {
				t.Errorf("got %v, %t, want %v", end, ok, tt.end)
			}
		})
	}
}

// What reading a message has added to its header is not sent on; its id is.
func TestOwnHeader(t *testing.T) {
	t.Parallel()
	got := ownHeader(nats.Header{nats.MsgIdHdr: {"1"}, "Nats-Sequence": {"7"}, "Traceparent": {"t"}})
	if diff := cmp.Diff(nats.Header{nats.MsgIdHdr: {"1"}, "Traceparent": {"t"}}, got); diff != "" {
		t.Error(diff)
	}
}
