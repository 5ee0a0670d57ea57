//go:build long

package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// What a run waits for outlives the removal of its agent: an answer that was given meanwhile
// and a deadline that has passed are there when it is back.
func TestRunOfARemovedAgentGoesOnWhenItIsBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		timeout time.Duration
		answer  string
		inTime  bool // it says that it was given before the deadline
		late    bool // it comes after the deadline
		says    string
		effects int64
	}{
		"an answer":                             {timeout: time.Hour, answer: "approve", says: "It says: paid", effects: 1},
		"an answer in time, passed on after it": {timeout: 10 * time.Second, answer: "approve", inTime: true, late: true, says: "It says: paid", effects: 1},
		"an answer too late":                    {timeout: 10 * time.Second, answer: "approve", late: true, says: "no answer came before the deadline"},
		"a deadline":                            {timeout: 10 * time.Second, says: "no answer came before the deadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			ana := biller(&n)
			ana.cfg.Limits.ApprovalTimeout = tt.timeout
			w := newWorld(t, ana, echoing("bob", "other"))
			w.say("ana", bus.Inbound{ID: "1", From: "bea", Text: "pay"})
			asked := w.hear()
			w.settled()
			bob := w.fleet.Runtime("bob")
			if err := w.fleet.Change(t.Context(), []*engine.Runtime{bob}, nil); err != nil {
				t.Fatal(err)
			}
			last := func() uint64 {
				s, err := w.bus.JS.Stream(t.Context(), bus.SchedulesStream)
				if err != nil {
					t.Fatal(err)
				}
				return s.CachedInfo().State.LastSeq
			}
			set := last()
			if tt.answer == "" || tt.late {
				set++ // the deadline
			}
			if tt.late {
				waittest.Until(t, "the deadline is kept", func() bool { return last() > set })
				set = last()
			}
			if tt.answer != "" {
				route := bus.Route{ID: "a1", Kind: bus.RouteResult, From: "op", CorrelationID: asked.Call, Text: tt.answer, Door: bus.DoorAPI}
				if tt.inTime {
					route.AnsweredAt = asked.SentAt
				}
				msg, err := bus.NewMessage("agent.route.ana", route)
				if err != nil {
					t.Fatal(err)
				}
				w.sendMsg(msg)
			}
			waittest.Until(t, "it is kept", func() bool { return last() > set && w.unacknowledged("ana") == 0 })
			if err := w.fleet.Change(t.Context(), []*engine.Runtime{w.runtime(ana), bob}, nil); err != nil {
				t.Fatal(err)
			}
			var heard []string
			for len(heard) == 0 || !strings.Contains(strings.Join(heard, " "), tt.says) {
				heard = append(heard, w.hear().Text)
			}
			if n.Load() != tt.effects {
				t.Errorf("%d effects, want %d", n.Load(), tt.effects)
			}
			w.settled()
			if n := w.letters("ana"); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}
