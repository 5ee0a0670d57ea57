package streams_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
)

// Settings by which NATS deletes what hosts have not read are told from those that only differ.
func TestSettingsThatLoseMessages(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for _, tt := range []struct {
		stream string
		edit   func(*jetstream.StreamConfig)
		want   string
	}{
		{bus.InboundStream, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, ""}, // a plugin gets an error when it is full
		{bus.InboundStream, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1000, jetstream.DiscardOld }, "max_msgs 1000"},
		{bus.InboundStream, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max_msgs_per_subject 1"},
		{bus.RoutesStream, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "max_bytes 1048576"},
		{bus.RoutesStream, func(c *jetstream.StreamConfig) { c.MaxAge = 24 * time.Hour }, ""},
		{bus.OutboundStream, func(c *jetstream.StreamConfig) { c.MaxAge = 10 * time.Minute }, "max_age 10m0s"},
		{bus.SessionsStream, func(c *jetstream.StreamConfig) { c.MaxAge = 24 * time.Hour }, "max_age 24h0m0s"},
		{bus.EventsStream, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, ""},
	} {
		before := bustest.StreamConfig(t, b.JS, tt.stream)
		edited := before
		tt.edit(&edited)
		if _, err := b.JS.UpdateStream(t.Context(), edited); err != nil {
			t.Fatal(err)
		}
		states, _, _, err := streams.Survey(t.Context(), b.JS, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			if s.Name == tt.stream && s.Losing != tt.want {
				t.Errorf("%s with %q loses by %q, want %q", s.Name, s.Foreign, s.Losing, tt.want)
			}
		}
		if _, err := b.JS.UpdateStream(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
}
