//go:build long

package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/tools"
)

// answerFor is how long the questions of these tests wait.
const answerFor = 2 * time.Second

// inTime is an agent that asks on its own channel, and hears the channel desk as well.
func inTime(n *atomic.Int64, more ...func(*actor)) actor {
	a := bot("ana", script(paying), has(counter(n), asking(tools.Wait{Question: true, Prompt: "Which?", Default: "green", Timeout: answerFor})), asks("ops"))
	a.cfg.Channels = append(a.cfg.Channels, agents.Binding{Channel: "desk"})
	a.cfg.Limits.ApprovalTimeout = answerFor
	for _, m := range more {
		m(&a)
	}
	return a
}

// behind stores so many messages of others before what is said next: a host that starts
// answers them first.
func (w *world) behind(channels ...string) {
	w.t.Helper()
	for i := range 120 {
		for _, channel := range channels {
			w.say(channel, bus.Inbound{From: fmt.Sprint("other", i), Text: "hello"})
		}
	}
}

// expires waits until the server has answered in the place of who was asked.
func (w *world) expires(agent string) {
	w.t.Helper()
	w.eventually("the deadline is stored", func() bool {
		s, err := w.bus.JS.Stream(w.t.Context(), bus.SchedulesStream)
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = s.GetLastMsgForSubject(w.t.Context(), bus.DuePrefix+agent)
		return err == nil
	})
}

// What was stored before the deadline counts, also where no host has read it by then.
func TestAnswerInTimeCountsAfterAnOutage(t *testing.T) {
	t.Parallel()
	approvers := func(a *actor) { a.cfg.Approvers = []string{"desk/boss"}; a.cfg.Notify = "approvers" }
	tests := map[string]struct {
		text    string // that makes it ask
		host    string // that starts afterwards; empty: the same
		more    []func(*actor)
		answer  func(w *world, asked bus.Outbound)
		want    []string
		effects int64
	}{
		"a word to a question": {
			text: "ask", answer: func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "blue"}) },
			want: []string{"reply It says: blue"},
		},
		"a button": {
			text: "ask", answer: func(w *world, asked bus.Outbound) { w.say("ana", bus.Inbound{Text: "blue", Answers: asked.Call}) },
			want: []string{"reply It says: blue"},
		},
		"a word to an approval": {
			text: "pay", answer: func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "approve"}) },
			want: []string{"reply It says: paid"}, effects: 1,
		},
		"an order to stop": {
			text: "pay", answer: func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "/stop"}) },
			want: []string{"error Stopped."},
		},
		"the operator": {
			text: "pay", answer: func(w *world, asked bus.Outbound) {
				w.send("agent.route.ana", bus.Route{ID: "cli1", Kind: bus.RouteResult, From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve"})
			},
			want: []string{"reply It says: paid"}, effects: 1,
		},
		"a word, taken over by another host": {
			text: "pay", host: "another", answer: func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "approve"}) },
			want: []string{"reply It says: paid"}, effects: 1,
		},
		"a word, in a partition": {
			text: "pay", more: []func(*actor){func(a *actor) { a.cfg.Partitions = 3 }},
			answer: func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "approve"}) },
			want:   []string{"reply It says: paid"}, effects: 1,
		},
		"an approver, from another chat": {
			text: "pay", more: []func(*actor){approvers},
			answer: func(w *world, asked bus.Outbound) {
				w.say("desk", bus.Inbound{From: "boss", Text: "approve", Answers: asked.Call})
			},
			want: []string{"reply It says: paid", "reply Thank you, noted."}, effects: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			ana := inTime(&n, tt.more...)
			w := newWorld(t, ana)
			w.say("ana", bus.Inbound{Text: tt.text})
			asked := w.hear()
			for asked.Kind == "notice" || asked.To != "ana" {
				asked = w.hear()
			}
			w.settled()
			w.stop()
			w.behind("ana", "desk")
			tt.answer(w, asked)
			w.expires("ana")
			w.change = func(o *engine.Options) { o.Host = cmp.Or(tt.host, o.Host) }
			w.start(ana)
			var heard []string
			for len(heard) < len(tt.want) {
				if out := w.hear(); !strings.HasPrefix(out.To, "other") && out.Kind != "approval" {
					heard = append(heard, out.Kind+" "+out.Text)
				}
			}
			slices.Sort(heard)
			if !slices.Equal(heard, tt.want) {
				t.Errorf("heard %q, want %q", heard, tt.want)
			}
			w.settled()
			if n.Load() != tt.effects {
				t.Errorf("%d effects, want %d", n.Load(), tt.effects)
			}
		})
	}
}

// What comes after the deadline is no answer, also where the run has yet to hear of it. Then that
// comes, were it lost.
func TestAnswerTooLate(t *testing.T) {
	t.Parallel()
	const expired = "No answer came in time, so this was not done: Ana wants to use pay with sum=5."
	gone := []string{"notice " + expired, "reply It says: not approved: no answer came before the deadline, so it was not run"}
	tests := map[string]struct {
		text string
		say  func(w *world, one agents.Waiting)
		want []string
	}{
		"a button": {
			"pay", func(w *world, one agents.Waiting) { w.say("ana", bus.Inbound{Text: "approve", Answers: one.ID}) },
			append([]string{"error " + expired}, gone...),
		},
		"a word": {
			"pay", func(w *world, _ agents.Waiting) { w.say("ana", bus.Inbound{Text: "approve"}) },
			append(slices.Clone(gone), "reply You said: approve"),
		},
		"any text": {
			"ask", func(w *world, _ agents.Waiting) { w.say("ana", bus.Inbound{Text: "blue"}) },
			[]string{
				"notice No answer came in time to this question: Which? I'm going on with: green",
				"reply It says: green (the default: no answer came before the deadline)", "reply You said: blue",
			},
		},
		"an approver, from another chat": {
			"pay", func(w *world, one agents.Waiting) {
				w.say("desk", bus.Inbound{From: "boss", Text: "approve", Answers: one.ID})
				w.say("ana", bus.Inbound{Text: "approve", Answers: one.ID})
			},
			append([]string{"error " + expired, "error " + expired}, gone...),
		},
		"the operator": {
			"pay", func(w *world, one agents.Waiting) {
				told := w.results("told")
				w.send("agent.route.ana", bus.Route{ID: "cli1", Kind: bus.RouteResult, From: "cli", Door: bus.DoorCLI, CorrelationID: one.ID, Text: "approve", ReplyTo: "told"})
				if r := w.result(told); r.Error == nil || !strings.Contains(r.Error.Message, "had passed when the answer came") {
					w.t.Errorf("the operator is told %+v", r)
				}
			}, gone,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			w := newWorld(t, inTime(&n))
			w.say("ana", bus.Inbound{Text: tt.text})
			w.hear()
			tt.say(w, w.overdue())
			var heard []string
			for range tt.want {
				out := w.hear()
				heard = append(heard, out.Kind+" "+out.Text)
			}
			if slices.Sort(heard); !slices.Equal(heard, sorted(tt.want)) {
				t.Errorf("heard %q, want %q", heard, sorted(tt.want))
			}
			w.settled()
			w.silent()
			if n.Load() != 0 {
				t.Errorf("%d effects after the deadline", n.Load())
			}
		})
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
