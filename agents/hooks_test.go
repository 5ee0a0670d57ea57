package agents_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/tools"
)

// hook adds a hook to the host of the world.
func (w *world) hook(point string, opts hooks.Options, h hooks.Handler) (remove func()) {
	w.t.Helper()
	remove, err := w.parts.Hooks.Add(point, 0, "test", h, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return remove
}

func answering(out hooks.Outcome) hooks.Handler {
	return func(context.Context, hooks.Call) (hooks.Outcome, error) { return out, nil }
}

// What a person is shown is what runs, whatever the hooks would say by then.
func TestWhatWasApprovedRuns(t *testing.T) {
	pay := tools.Tool{Name: "pay", Schema: anything, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		return tools.Result{Text: string(call.Args)}, nil
	}}
	for name, afterwards := range map[string]func(*world, actor, func()){
		"the hook says something else": func(*world, actor, func()) {},
		"the hook is gone":             func(_ *world, _ actor, remove func()) { remove() },
		"the host is another one":      func(w *world, a actor, _ func()) { w.stop(); w.start(a) },
	} {
		t.Run(name, func(t *testing.T) {
			a := bot("ana", script(paying), has(pay))
			w := newWorld(t, a)
			var fired atomic.Int64
			remove := w.hook(hooks.BeforeToolCall, hooks.Options{}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
				sum := `{"sum": 3}`
				if fired.Add(1) > 1 {
					sum = `{"sum": 4}`
				}
				return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"args": json.RawMessage(sum)}}, nil
			})
			w.say("ana", bus.Inbound{Text: "pay"})
			if out := w.hear(); out.Kind != "approval" || !strings.Contains(out.Text, "3") || strings.Contains(out.Text, "5") {
				t.Fatalf("heard %s %q", out.Kind, out.Text)
			}
			w.settled()
			afterwards(w, a, remove)
			w.say("ana", bus.Inbound{Text: "approve"})
			w.expect("reply", `It says: {"sum":3}`)
			if fired.Load() != 1 {
				t.Errorf("the hook was fired %d times", fired.Load())
			}
		})
	}
}

// A hook that aborts before a tool ends the run, as before a message and a call
// of the model.
func TestHookAbortsBeforeATool(t *testing.T) {
	tests := map[string]struct {
		opts hooks.Options
		hook hooks.Handler
		want string
	}{
		"abort": {hooks.Options{}, answering(hooks.Outcome{Action: hooks.Abort, Reason: "Not on Sundays."}), "Not on Sundays."},
		"closed, and late": {hooks.Options{FailClosed: true, Timeout: time.Millisecond}, func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
			<-ctx.Done()
			return hooks.Outcome{}, ctx.Err()
		}, couldNotCheck},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, bot("ana", script(paying), has(counter(&n))))
			w.hook(hooks.BeforeToolCall, tt.opts, tt.hook)
			w.say("ana", bus.Inbound{Text: "pay"})
			if out := w.expect("error", tt.want); !out.Final || out.Error == nil || out.Error.Code != "cancelled" {
				t.Errorf("heard %+v", out)
			}
			if n.Load() != 0 {
				t.Errorf("got %d effects", n.Load())
			}
			w.settled()
			w.silent()
		})
	}
}

// What another call of the same answer waits for is waited for no more.
func TestHookAbortsBesideAQuestion(t *testing.T) {
	const both = `rules: [{when: go, tool_calls: [{name: ask_human, args: {}}, {name: pay, args: {}}]}]`
	w := newWorld(t, bot("ana", script(both), has(asking(tools.Wait{Question: true, Prompt: "Which?"}), tools.Tool{Name: "pay", Schema: anything, Run: text("paid")})))
	asked := make(chan struct{})
	w.hook(hooks.BeforeToolCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		if string(call.Args["name"]) != `"pay"` {
			return hooks.Outcome{}, nil
		}
		<-asked
		return hooks.Outcome{Action: hooks.Abort, Reason: "Not on Sundays."}, nil
	})
	waiting := func(n int) func() bool {
		return func() bool {
			list, err := agents.AllWaiting(t.Context(), w.bus.JS)
			return err == nil && len(list) == n
		}
	}
	w.say("ana", bus.Inbound{Text: "go"})
	w.expect("question", "Which?")
	w.eventually("the question waits", waiting(1))
	close(asked)
	w.expect("error", "Not on Sundays.")
	w.eventually("nothing waits", waiting(0))
	w.settled()
}

// couldNotCheck is what a person is told of the fault of a hook that fails
// closed.
const couldNotCheck = "A check that has to pass first could not be made, so this was stopped. Please try again later."
