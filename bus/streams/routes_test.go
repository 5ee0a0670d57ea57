package streams_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A program may publish on agent.route.<agent> of one agent: it reaches no other by
// a schedule, and deletes nothing by a rollup.
func TestRoutesTakeNeitherSchedulesNorRollup(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.Provision(t, js)
	bustest.Publish(t, js, "agent.route.kate", "work of another agent")
	for name, header := range map[string]nats.Header{
		"rollup of all":        {"Nats-Rollup": {"all"}},
		"rollup of a subject":  {"Nats-Rollup": {"sub"}},
		"schedule for another": {jetstream.ScheduleHeader: {"@at " + time.Now().UTC().Format(time.RFC3339)}, jetstream.ScheduleTargetHeader: {"agent.route.kate"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "agent.route.bank", Header: header, Data: []byte("x")})
			if err == nil {
				t.Error("it was stored")
			}
		})
	}
	stream, err := js.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the stream has %d messages, want 1", n)
	}
}
