package lanes

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An ended Ender notes the messages that it ends.
type ended struct{ texts []string }

func (e *ended) End(_ context.Context, m Message, done func()) {
	route, _ := bus.DecodeRoute(m.Data)
	e.texts = append(e.texts, route.Text)
	done()
}

func (e *ended) Bury(_ Message, done func()) { done() }

func (e *ended) Served(context.Context) (Served, error) { return Served{Hosts: 1}, nil }

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
	ender := &ended{}
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
