package engine_test

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

const ploughing = `
rules:
  - {when: plough, tool_calls: [{name: plough, args: {}}, {name: plough, args: {}}]}
  - {text: "You said: ${text}"}
`

// toolResults are the results of tools in the log of ana's session, in the order of their calls.
func (w *world) toolResults() (texts []string) {
	asked := map[string]int{}
	var results []run.Event
	for _, e := range w.log("ana", "ana/dm/ana") {
		switch e.Type {
		case run.ToolRequested:
			asked[e.Call] = len(asked)
		case run.ToolFinished: // in the log as it ends: a tool may take longer than the next answer
			results = append(results, e)
		}
	}
	slices.SortStableFunc(results, func(a, b run.Event) int { return cmp.Compare(asked[a.Call], asked[b.Call]) })
	for _, e := range results {
		texts = append(texts, e.Result)
	}
	return texts
}

// plough is a tool that says when it has begun, and ends by end.
func plough(begun chan<- struct{}, end func(ctx context.Context) (tools.Result, error)) tools.Tool {
	return tools.Tool{
		Name: "plough", Schema: anything, ReadOnly: true,
		Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			begun <- struct{}{}
			return end(ctx)
		},
	}
}

// The first order to stop has the tools end, and the log has what they did.
func TestAbortWaitsForToolsThatEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(ctx context.Context) (tools.Result, error)
		want string
	}{
		"with a result": {func(context.Context) (tools.Result, error) { return tools.Result{Text: "half a field"}, nil }, "half a field, seen"},
		"with an error": {func(ctx context.Context) (tools.Result, error) { return tools.Result{}, ctx.Err() }, "it was stopped; its outcome is unknown, seen"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{}, 2)
			w := newWorld(t, bot("ana", script(ploughing), has(plough(begun, func(ctx context.Context) (tools.Result, error) {
				<-ctx.Done()
				return tt.end(ctx)
			}))))
			w.hook(hooks.AfterToolCall, hooks.Options{}, func(ctx context.Context, call hooks.Call) (hooks.Outcome, error) {
				if ctx.Err() != nil {
					t.Error("the hook gets a context that has ended")
				}
				said := string(call.Args["result"])
				return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"result": []byte(said[:len(said)-1] + `, seen"`)}}, nil
			})
			w.say("ana", bus.Inbound{ID: "p", Text: "plough"})
			<-begun
			<-begun
			w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
			w.expect("error", "Stopped.")
			w.settled()
			w.silent()
			for _, got := range w.toolResults() {
				if got != tt.want {
					t.Errorf("the log has the result %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// A second order to stop ends a run whose tools do not end; each order is acknowledged,
// and the run has one reply.
func TestSecondAbortForces(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 2), make(chan struct{})
	w := newWorld(t)
	w.stop()
	var forced atomic.Bool // else the run may have ended by the time that tools have
	w.change = func(p *engine.Options) {
		p.Log = p.Log.Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, msg string) {
			if msg == "stop run: forced by a second order" {
				forced.Store(true)
			}
		}))
	}
	w.start(bot("ana", script(ploughing), has(plough(begun, func(context.Context) (tools.Result, error) {
		<-release
		return tools.Result{Text: "late"}, nil
	}))))
	defer close(release)
	w.say("ana", bus.Inbound{ID: "p", Text: "plough"})
	<-begun
	<-begun
	for range 2 {
		msg, err := agents.StopMessage("ana", "ana/dm/ana", "the desk", "Enough.", "")
		if err != nil {
			t.Fatal(err)
		}
		w.sendMsg(msg)
	}
	w.expect("error", "Enough.")
	w.settled()
	w.say("ana", bus.Inbound{ID: "hi", Text: "hi"})
	w.expect("reply", "You said: hi")
	w.settled()
	w.silent()
	if !forced.Load() {
		t.Error("the second order did not force the end")
	}
	for _, got := range w.toolResults() {
		if got != "cancelled; its outcome is unknown" {
			t.Errorf("the log has the result %q", got)
		}
	}
}

// The one reply of a run that was stopped is the answer to the orders of its chat as well,
// also where a second one forced the end.
func TestEndAnswersTheOrders(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string][]string{"one": {"s1"}, "forced": {"s1", "s2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, release := make(chan struct{}, 2), make(chan struct{})
			w := newWorld(t, bot("ana", script(ploughing), has(plough(begun, func(ctx context.Context) (tools.Result, error) {
				if len(orders) == 1 {
					<-ctx.Done()
				} else {
					<-release
				}
				return tools.Result{}, nil
			}))))
			defer close(release)
			w.say("ana", bus.Inbound{ID: "p", Text: "plough"})
			<-begun
			<-begun
			for _, id := range orders {
				w.say("ana", bus.Inbound{ID: id, Text: "/stop"})
			}
			got := w.expect("error", "Stopped.")
			if want := append([]string{"p"}, orders...); got.InReplyTo != "p" || !slices.Equal(got.Merged, want) {
				t.Errorf("it is in reply to %q and of %q; want p and %q", got.InReplyTo, got.Merged, want)
			}
			w.settled()
			w.silent()
		})
	}
}

// The log has the call of a model that an order to stop has ended.
func TestAbortedModelCallIsInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.busy()
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard("slow error")
	w.settled()
	for _, e := range w.log("ana", "ana/dm/ana") {
		if e.Type == run.ModelCalled {
			return
		}
	}
	t.Error("the log has no call of the model")
}
