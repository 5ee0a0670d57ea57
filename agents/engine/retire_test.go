package engine_test

import (
	"encoding/json"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// results listens on a subject that no stream keeps.
func (w *world) results(subject string) <-chan *nats.Msg {
	w.t.Helper()
	came := make(chan *nats.Msg, 100)
	if _, err := w.bus.NC.ChanSubscribe(subject, came); err != nil {
		w.t.Fatal(err)
	}
	return came
}

// result waits for the next of them.
func (w *world) result(came <-chan *nats.Msg) bus.Route {
	w.t.Helper()
	r := bus.Route{}
	select {
	case m := <-came:
		if err := json.Unmarshal(m.Data, &r); err != nil {
			w.t.Fatal(err)
		}
	case <-time.After(60 * time.Second):
		w.t.Fatal("no result comes")
	}
	return r
}

// letters counts the dead letters of an agent.
func (w *world) letters(agent string) uint64 {
	w.t.Helper()
	stream, err := w.bus.JS.Stream(w.t.Context(), bus.DeadStream)
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := stream.Info(w.t.Context(), jetstream.WithSubjectFilter(bus.DeadSubject(agent)))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.State.Subjects[bus.DeadSubject(agent)]
}

// unacknowledged is how many messages the lane of an agent has not done with.
func (w *world) unacknowledged(agent string) int {
	n := 0
	for _, stream := range bus.LaneStreams() {
		c, err := w.bus.JS.Consumer(w.t.Context(), stream, delivery.LaneName(engine.LaneOf(agent, 4)))
		if err != nil {
			w.t.Fatal(err)
		}
		n += c.CachedInfo().NumAckPending + int(c.CachedInfo().NumPending)
	}
	return n
}
