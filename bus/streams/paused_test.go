package streams_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
)

// A lane that is paused is found also where another stream of lanes is missing.
func TestPausedLanes(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	if err := b.JS.DeleteStream(t.Context(), bus.RoutesStream); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	for name, paused := range map[string]*time.Time{"lane-00": &until, "lane-01": nil} {
		_, err := b.JS.CreateConsumer(t.Context(), bus.SchedulesStream, jetstream.ConsumerConfig{
			Durable: name, AckPolicy: jetstream.AckExplicitPolicy, PauseUntil: paused,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := streams.PausedLanes(t.Context(), b.JS)
	if err != nil || len(got) != 1 || got[0].Stream != bus.SchedulesStream || got[0].Name != "lane-00" || got[0].Left <= 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
