package agents_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

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

func overriding(args hooks.Args) hooks.Handler {
	return func(context.Context, hooks.Call) (hooks.Outcome, error) {
		return hooks.Outcome{Action: hooks.Override, Args: args}, nil
	}
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
