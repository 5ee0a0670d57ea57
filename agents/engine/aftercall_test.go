package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/tools"
)

// A sightings is what hooks before and after calls of tools have seen.
type sightings struct {
	mu   sync.Mutex
	list []string
}

func (s *sightings) add(seen string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, seen)
}

func (s *sightings) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// watchCalls has hooks see the calls of ana's tools, and what they bring. The one after puts
// something else in the place of each result.
func (s *sightings) watchCalls(w *world, opts hooks.Options, after hooks.Handler) {
	w.hook(hooks.BeforeToolCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		if call.Agent == "ana" {
			s.add("before")
		}
		return hooks.Outcome{}, nil
	})
	opts.Only = func(agent, _ string) bool { return agent == "ana" }
	w.hook(hooks.AfterToolCall, opts, func(ctx context.Context, call hooks.Call) (hooks.Outcome, error) {
		s.add(fmt.Sprintf("after %s %s: %s", call.Args["args"], call.Args["ok"], call.Args["result"]))
		return after(ctx, call)
	})
}

// A hook after a call that fails, and is to fail closed, lets no result through.
func TestHookAfterCallThatFailsClosed(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{"a tool": "pay", "a question": "ask"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(paying), has(
				asking(tools.Wait{Question: true, Prompt: "Which?"}), tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text(secret)})))
			var s sightings
			s.watchCalls(w, hooks.Options{FailClosed: true}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
				return hooks.Outcome{}, errors.New("away")
			})
			w.say("ana", bus.Inbound{Text: say})
			if say == "ask" {
				w.expect("question", "Which?")
				w.settled()
				w.say("ana", bus.Inbound{Text: secret})
			}
			w.expect("reply", "It says: its result is held back: a hook of this host that has to see it first has failed")
			w.settled()
			if found := w.holding(secret); len(found) > 0 {
				t.Errorf("the result is stored on %q", found)
			}
			if events := w.log("ana", "ana/dm/ana"); !slices.ContainsFunc(events, func(e run.Event) bool {
				return e.Type == run.ToolFinished && !e.OK && len(e.Hooks) == 1 && e.Hooks[0].Action == run.HookAborted && e.Hooks[0].Error == "away"
			}) {
				t.Errorf("the log does not say it: %+v", events)
			}
		})
	}
}
