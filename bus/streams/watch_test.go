package streams_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What an operator of NATS changes of a stream while hosts run is reported, and what hosts need is set
// again.
func TestWatch(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		var logged bustest.LogBuffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = (&streams.Watch{JS: b.JS, Replicas: 1, Log: zerolog.New(&logged)}).Run(ctx)
		}()
		defer func() { cancel(); <-done }()
		time.Sleep(5 * time.Minute)
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
