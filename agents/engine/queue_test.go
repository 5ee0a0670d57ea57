package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/hooks"
	"agenthost/session"
)

const dawdling = `
rules:
  - {when: slow, delay: 9m, text: too late}
  - {after_tool: "*", text: "It says: ${result}"}
  - {when: pay, tool_calls: [{name: pay, args: {}}]}
  - {text: "${text}"}
`

// narrow is an agent in whose sessions at most three messages wait.
func narrow(more ...func(*actor)) actor {
	a := bot("ana", append(more, script(dawdling))...)
	a.cfg.Session.QueueMax = 3
	return a
}

// busy has the run of the message slow under way, and three wait behind it.
func (w *world) busy(behind ...bus.Inbound) {
	w.t.Helper()
	w.say("ana", bus.Inbound{ID: "slow", Text: "slow"})
	w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
	for _, in := range behind {
		w.say("ana", in)
	}
	w.eventually("the queue", func() bool { return w.fleet.Status()[0].Queued == int64(len(behind)) })
}

func waiting() []bus.Inbound {
	return []bus.Inbound{{ID: "q1", Text: "one"}, {ID: "q2", Text: "two"}, {ID: "q3", Text: "three"}}
}

// heard are the next n messages to people: the message answered, and the kind.
func (w *world) heard(n int) []string {
	w.t.Helper()
	var list []string
	for range n {
		out := w.hear()
		list = append(list, out.InReplyTo+" "+out.Kind)
	}
	return list
}

func (w *world) wantHeard(want ...string) {
	w.t.Helper()
	got := w.heard(len(want))
	for i := range want {
		if got[i] != want[i] {
			w.t.Errorf("heard %d of %d: %q and then %q, want %q", i, len(want), got[max(0, i-3):i], got[i], want[i])
			return
		}
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		says []bus.Inbound
		want []string
	}{
		"one more":             {[]bus.Inbound{{ID: "q4", Text: "four"}, {ID: "end", Text: "/stop"}}, []string{"q4 error", "slow error", "q1 reply", "q2 reply", "q3 reply"}},
		"stop":                 {[]bus.Inbound{{ID: "end", Text: "/stop"}}, []string{"slow error", "q1 reply", "q2 reply", "q3 reply"}},
		"now":                  {[]bus.Inbound{{ID: "now", Text: "now", Priority: "now"}}, []string{"slow error", "now reply", "q1 reply", "q2 reply", "q3 reply"}},
		"one that waits":       {[]bus.Inbound{{ID: "q2", Text: "two"}, {ID: "end", Text: "/stop"}}, []string{"slow error", "q1 reply", "q2 reply", "q3 reply"}},
		"that of the run":      {[]bus.Inbound{{ID: "slow", Text: "slow"}, {ID: "end", Text: "/stop"}}, []string{"slow error", "q1 reply", "q2 reply", "q3 reply"}},
		"an answer to nothing": {[]bus.Inbound{{ID: "a1", Text: "yes", Answers: "x"}, {ID: "end", Text: "/stop"}}, []string{"slow error", "q1 reply", "q2 reply", "q3 reply", "a1 error"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, narrow())
			w.busy(waiting()...)
			for _, in := range tt.says {
				w.say("ana", in)
			}
			w.wantHeard(tt.want...)
			w.settled()
			w.silent()
		})
	}
	t.Run("one that was answered", func(t *testing.T) {
		w := newWorld(t, narrow())
		w.say("ana", bus.Inbound{ID: "q0", Text: "zero"})
		w.wantHeard("q0 reply")
		w.busy(waiting()...)
		w.say("ana", bus.Inbound{ID: "q0", Text: "zero"})
		w.eventually("it in the queue", func() bool { return w.fleet.Status()[0].Queued == 4 })
		w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
		w.wantHeard("slow error", "q1 reply", "q2 reply", "q3 reply")
		w.settled()
		w.silent()
	})
}

// The run under way sees an order also when so much waits that it is in the log.
func TestStopWithAFullMailbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	var behind []bus.Inbound
	want := []string{"slow error"}
	for i := range 100 {
		id := fmt.Sprint("m", i)
		behind, want = append(behind, bus.Inbound{ID: id, Text: "hi"}), append(want, id+" reply")
	}
	w.busy(behind...)
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard(want...)
	w.settled()
	w.silent()
}

// What waits for a run that waits itself is in the log, and counts.
func TestFullLog(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, narrow(has(counter(&n))))
	w.say("ana", bus.Inbound{ID: "p", Text: "pay"})
	w.wantHeard("p approval")
	w.settled()
	for i := range 5 {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("m", i), Text: fmt.Sprint(i)})
		switch {
		case i == 0:
			w.wantHeard("m0 notice")
		case i > 2:
			w.wantHeard(fmt.Sprintf("m%d error", i))
		}
		w.settled()
	}
	w.say("ana", bus.Inbound{ID: "yes", Text: "approve"})
	w.wantHeard("p reply", "m0 reply", "m1 reply", "m2 reply")
	w.settled()
	w.silent()
	if n.Load() != 1 {
		t.Errorf("%d effects, want 1", n.Load())
	}
}

// What must not wait is the next, and stops nobody who only waited.
func TestNowGoesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.busy(bus.Inbound{ID: "b", Text: "b"}, bus.Inbound{ID: "c", Text: "c", Priority: "later"})
	w.say("ana", bus.Inbound{ID: "d", Text: "d", Priority: "now"})
	w.wantHeard("slow error", "d reply", "b reply", "c reply")
	w.settled()
	w.silent()
}

// An order, or an answer, is no part of what is collected.
func TestOrdersAreNotCollected(t *testing.T) {
	tests := map[string]struct {
		says []bus.Inbound
		want []string
	}{
		"by a hook":      {[]bus.Inbound{{ID: "a", Text: "a"}, {ID: "b", Text: "end it"}, {ID: "c", Text: "c"}}, []string{"c reply"}},
		"stop":           {[]bus.Inbound{{ID: "s", Text: " /stop "}, {ID: "a", Text: "a"}, {ID: "b", Text: "b"}}, []string{"s error", "b reply"}},
		"answer":         {[]bus.Inbound{{ID: "a", Text: "a"}, {ID: "b", Text: "b"}, {ID: "x", Text: "yes", Answers: "none"}}, []string{"b reply", "x error"}},
		"answer between": {[]bus.Inbound{{ID: "a", Text: "a"}, {ID: "x", Text: "yes", Answers: "none"}, {ID: "b", Text: "b"}}, []string{"a reply", "x error", "b reply"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				a := bot("ana", script(dawdling))
				a.cfg.Channels[0] = agents.Binding{Channel: "ana", Queue: session.Collect, Debounce: 200 * time.Millisecond}
				w := newWorld(t, a)
				w.hook(hooks.BeforeMessage, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
					if strings.Contains(string(call.Args["message"]), "end it") {
						return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(`{"text":"/stop"}`)}}, nil
					}
					return hooks.Outcome{}, nil
				})
				for _, in := range tt.says {
					w.say("ana", in)
				}
				w.wantHeard(tt.want...)
				w.settled()
				w.silent()
				w.stop()
			})
		})
	}
}

// No kind of message waits without end: past the queue there are some places for what is for the
// run under way or for what waits, and an order to stop finds one also where these are taken.
func TestFullQueueOfAnyMessage(t *testing.T) {
	t.Parallel()
	const flood, spare = 100, 32
	for name, in := range map[string]bus.Inbound{
		"edits":        {Text: "changed", Edits: "q1"},
		"late answers": {Text: "1", Answers: "ana.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, narrow())
			w.busy(waiting()...)
			for i := range flood {
				in.ID = fmt.Sprint("f", i)
				w.say("ana", in)
			}
			for range flood - spare {
				if out := w.hear(); out.Error == nil || out.Error.Code != "validation" {
					t.Fatalf("heard %+v, want that too many wait", out)
				}
			}
			w.eventually("the rest waits", func() bool { return w.fleet.Status()[0].Queued == int64(len(waiting())+spare) })
			w.silent()
			w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
			for out := w.hear(); out.InReplyTo != "slow"; out = w.hear() {
				if out.InReplyTo == "end" {
					t.Fatalf("the order to stop is answered with %q", out.Text)
				}
			}
		})
	}
}
