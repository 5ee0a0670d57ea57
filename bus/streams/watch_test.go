package streams_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// watch runs a Watch until the returned function is called.
func watch(t *testing.T, js jetstream.JetStream) (logged *bustest.LogBuffer, stop func()) {
	logged = &bustest.LogBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = (&streams.Watch{JS: js, Replicas: 1, Log: zerolog.New(logged)}).Run(ctx)
	}()
	return logged, func() { cancel(); <-done }
}

// What an operator of NATS changes of a stream while hosts run is reported, and what hosts need is set
// again.
func TestWatch(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		logged, stop := watch(t, b.JS)
		defer stop()
		time.Sleep(5*time.Minute + 30*time.Second) // between two looks
		if logged.String() != "" {
			t.Fatalf("logged %s, want nothing", logged.String())
		}
		edit := func(name string, how func(*jetstream.StreamConfig)) {
			t.Helper()
			cfg := bustest.StreamConfig(t, b.JS, name)
			how(&cfg)
			if _, err := b.JS.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		edit(bus.OutboundStream, func(c *jetstream.StreamConfig) {
			c.Duplicates, c.RePublish = time.Second, &jetstream.RePublish{Source: ">", Destination: "copy.>"}
		})
		edit(bus.SessionsStream, func(c *jetstream.StreamConfig) { c.AllowRollup, c.MaxMsgsPerSubject = false, 7 })
		states, _, _, err := streams.Survey(t.Context(), b.JS, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]streams.State{
			bus.OutboundStream: {Foreign: "republish > to copy.>", Lacks: "duplicate_window 1s"},
			bus.SessionsStream: {Foreign: "max_msgs_per_subject 7", Losing: "max_msgs_per_subject 7", Lacks: "allow_rollup false"},
		}
		for _, s := range states {
			if w := want[s.Name]; s.Foreign != w.Foreign || s.Losing != w.Losing || s.Lacks != w.Lacks {
				t.Errorf("survey of %s: got foreign %q, losing %q, lacks %q; want %q, %q, %q", s.Name, s.Foreign, s.Losing, s.Lacks, w.Foreign, w.Losing, w.Lacks)
			}
		}
		time.Sleep(5 * time.Minute)
		if c := bustest.StreamConfig(t, b.JS, bus.OutboundStream); c.Duplicates != bus.DedupeWindow || c.RePublish == nil {
			t.Errorf("got window %v, republish %v", c.Duplicates, c.RePublish)
		}
		if !bustest.StreamConfig(t, b.JS, bus.SessionsStream).AllowRollup {
			t.Error("rollup is off")
		}
		for _, words := range []string{
			`"settings":"republish > to copy.>","message":"stream was changed`, `"settings":"max_msgs_per_subject 7","message":"stream was changed`,
			`"settings":"max_msgs_per_subject 7","message":"NATS deletes messages`, `"lacked":"duplicate_window 1s"`, `"lacked":"allow_rollup false"`,
		} {
			if strings.Count(logged.String(), words) != 1 {
				t.Errorf("logged %s, want once %s", logged.String(), words)
			}
		}
		edit(bus.SessionsStream, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 0 })
		time.Sleep(2 * time.Minute)
		if !strings.Contains(logged.String(), "has the settings of hosts again") {
			t.Errorf("logged %s", logged.String())
		}
	})
}

// A stream or bucket that is gone while hosts run is reported once, with the cure, and once more when
// it is there again.
func TestWatchOfWhatIsGone(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		logged, stop := watch(t, b.JS)
		defer stop()
		time.Sleep(5 * time.Minute)
		lose := func() {
			t.Helper()
			for _, bucket := range []string{bus.AllowedBucket, bus.MemoryBucket} {
				if err := b.JS.DeleteKeyValue(t.Context(), bucket); err != nil {
					t.Fatal(err)
				}
			}
			err := errors.Join(b.JS.DeleteStream(t.Context(), bus.InboundStream), b.JS.DeleteObjectStore(t.Context(), bus.FilesBucket))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
		}
		names := []string{`"bucket":"AGENT_ALLOWED"`, `"bucket":"AGENT_MEMORY"`, `"bucket":"AGENT_FILES"`, `"stream":"AGENT_INBOUND"`}
		for times := 1; times < 3; times++ {
			lose()
			for _, name := range names {
				if n := strings.Count(logged.String(), `{"level":"warn",`+name+`,"message":"deleted while hosts run; restore it from a backup, or restart one host, which makes it again, empty"}`); n != times {
					t.Errorf("logged %d times that %s is gone, want %d:\n%s", n, name, times, logged.String())
				}
			}
			bustest.Provision(t, b.JS)
			time.Sleep(5 * time.Minute)
			for _, name := range names {
				if n := strings.Count(logged.String(), `{"level":"info",`+name+`,"message":"there again"}`); n != times {
					t.Errorf("logged %d times that %s is back, want %d:\n%s", n, name, times, logged.String())
				}
			}
		}
		if n := strings.Count(logged.String(), "\n"); n != 2*2*len(names) {
			t.Errorf("logged %d lines, want %d:\n%s", n, 2*2*len(names), logged.String())
		}
	})
}

// What cannot be asked is not gone: NATS may be away, or refuse the question.
func TestWatchWithoutAnAnswer(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		js := &silent{JetStream: b.JS}
		logged, stop := watch(t, js)
		defer stop()
		for _, away := range []bool{true, false, true} {
			js.away.Store(away)
			time.Sleep(5 * time.Minute)
		}
		if logged.String() != "" {
			t.Errorf("logged %s, want nothing", logged.String())
		}
	})
}

// A silent JetStream says nothing of its streams while it is away.
type silent struct {
	jetstream.JetStream
	away atomic.Bool
}

func (s *silent) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if s.away.Load() {
		return nil, context.DeadlineExceeded
	}
	return s.JetStream.Stream(ctx, name)
}
