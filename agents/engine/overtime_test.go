package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/tools"
)

// hasty is an agent that hands over and waits for little more than a second.
func hasty(id, to string) actor {
	a := bot(id, script(paying), has(handing(to)), asks(to))
	a.cfg.Limits.RunTimeout = 1200 * time.Millisecond
	return a
}

// payer is an agent that needs an approval for each task.
func payer(id string, n *atomic.Int64) actor {
	return bot(id, script(`
rules:
  - {after_tool: "*", text: "It says: ${result}"}
  - {tool_calls: [{name: pay, args: {}}]}
`), has(counter(n)))
}

// words are the next n messages to persons, sorted: each is its kind and its text.
func (w *world) words(n int) (list []string) {
	w.t.Helper()
	for range n {
		out := w.hear()
		list = append(list, out.Kind+" "+out.Text)
	}
	slices.Sort(list)
	return list
}

// wantOver checks that nothing waits any more, and that id was too late.
func (w *world) wantOver(id string, n *atomic.Int64) {
	w.t.Helper()
	w.eventually("nothing waits", func() bool {
		all, err := agents.AllWaiting(w.t.Context(), w.bus.JS)
		return err == nil && len(all) == 0
	})
	w.settled()
	w.say("ana", bus.Inbound{Text: "approve", Answers: id})
	w.expect("error", "There is no open question that this could answer. It may have been answered already.")
	w.settled()
	w.silent()
	if n.Load() != 0 {
		w.t.Errorf("got %d effects after the deadline", n.Load())
	}
}

const (
	unpaid   = "notice No answer came in time, so this was not done: Ops wants to use pay."
	noResult = "reply It says: no result came in time"
)

// An answer has no effect either that comes while no host is there to see the end of that time.
func TestTaskThatWaitsEndsOnAnotherHost(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	actors := []actor{hasty("ana", "ops"), payer("ops", &n)}
	w := newWorld(t, actors...)
	w.say("ana", bus.Inbound{Text: "hand over"})
	asked := w.hear()
	w.settled()
	w.stop()
	w.eventually("the time is over", func() bool {
		all, err := agents.AllWaiting(t.Context(), w.bus.JS)
		return err == nil && !slices.ContainsFunc(all, func(one agents.Waiting) bool { return time.Now().Before(one.Deadline) })
	})
	told := w.subscribe("told")
	w.send("agent.route.ops", bus.Route{Kind: bus.RouteResult, From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve", ReplyTo: "told"})
	w.start(actors...)
	if got := w.words(2); !slices.Equal(got, []string{unpaid, noResult}) {
		t.Fatalf("heard %q", got)
	}
	answer := bus.Route{}
	if err := json.Unmarshal(w.next(told).Data, &answer); err != nil || answer.Error == nil {
		t.Errorf("who approved is told %+v, %v", answer, err)
	}
	w.wantOver(asked.Call, &n)
}

// An answer in the chat that comes after that time, and before the agent has seen its end,
// is not passed on.
func TestAnswerAfterTheTimeOfATask(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, hasty("ana", "ops"), payer("ops", &n))
	w.say("ana", bus.Inbound{Text: "hand over"})
	id := w.hear().Call
	for out := w.hear(); out.Kind+" "+out.Text != noResult; {
		out = w.hear()
	}
	w.say("ana", bus.Inbound{ID: "late", Text: "approve"})
	for {
		if out := w.hear(); out.InReplyTo == "late" && out.Final {
			if out.Text == "I've passed your answer on to Ops." {
				t.Errorf("heard %q", out.Text)
			}
			break
		}
	}
	w.settled()
	for len(w.out) > 0 {
		w.hear()
	}
	w.wantOver(id, &n)
}

// When the time of a run is over while it still works, the agents that work for it end as well.
func TestRunThatTakesTooLongRecallsItsTasks(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	begun := make(chan struct{}, 1)
	delegate := handing("ops")
	delegate.Run = func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{To: "ops", Prompt: "pay", Timeout: time.Minute}}, nil
	}
	a := bot("ana", script(`rules: [{tool_calls: [{name: delegate, args: {}}, {name: plough, args: {}}]}]`), asks("ops"),
		has(delegate, plough(begun, func(ctx context.Context) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		})))
	a.cfg.Limits.RunTimeout = 1500 * time.Millisecond
	w := newWorld(t, a, payer("ops", &n))
	w.say("ana", bus.Inbound{Text: "both"})
	id := w.hear().Call
	w.expect("error", "This took too long, so I stopped. Please try again, or ask for less at once.")
	w.wantOver(id, &n)
}
