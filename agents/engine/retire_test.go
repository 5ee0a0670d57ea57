package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

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

// An agent that is removed finishes the run under way. What waits behind it, in its
// session and for a slot, is answered with an error and becomes a dead letter.
func TestRemovedAgentAnswersWhatWaitsBehindItsRuns(t *testing.T) {
	t.Parallel()
	const script = `rules: [{when: hold, delay: 4s, text: held}, {text: "${text}"}]`
	ana := actor{cfg: agents.Config{
		ID: "ana", Channels: []agents.Binding{{Channel: "demo"}}, Limits: agents.Limits{Concurrency: 1},
	}, script: script}
	bob := actor{cfg: agents.Config{ID: "bob"}, script: script}
	w := newWorld(t, ana, bob)
	came := w.results("results.of.ana")
	w.say("demo", bus.Inbound{ID: "1", From: "u1", Text: "hold"})
	waittest.Until(t, "the run", func() bool { return w.status("ana").Running == 1 })
	w.say("demo", bus.Inbound{ID: "2", From: "u1", Text: "behind it"})
	w.say("demo", bus.Inbound{ID: "3", From: "u2", Text: "for a slot"})
	w.publish("agent.route.ana", bus.Route{ID: "4", Kind: bus.RouteDelegate, From: "cli", CorrelationID: "c", Text: "a task", ReplyTo: "results.of.ana"})
	waittest.Until(t, "they wait", func() bool { return w.status("ana").Queued == 3 })
	if err := w.fleet.Change(t.Context(), []*engine.Runtime{w.fleet.Runtime("bob")}, nil); err != nil {
		t.Fatal(err)
	}
	w.expect("reply", "held")
	ended := map[string]bool{}
	for range 2 {
		out := w.hear()
		if out.Kind != "error" || !out.Final || out.Error == nil || out.Error.Code != "tool_unavailable" {
			t.Errorf("got %+v", out)
		}
		ended[out.InReplyTo] = true
	}
	if !ended["2"] || !ended["3"] {
		t.Errorf("answered are %v", ended)
	}
	if r := w.result(came); r.Error == nil || r.Error.Code != "tool_unavailable" || r.CorrelationID != "c" || r.InReplyTo != "4" {
		t.Errorf("the delegate got %+v", r)
	}
	waittest.Until(t, "all are acknowledged, and three are dead letters", func() bool {
		return w.unacknowledged("ana") == 0 && w.letters("ana") == 3
	})
	w.silent()
}
