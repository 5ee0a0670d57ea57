//go:build long

package engine_test

import (
	"testing"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/internal/waittest"
)

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
