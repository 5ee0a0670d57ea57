package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
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
	t.Parallel()
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
	t.Parallel()
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

// What the host itself says of a hook that stops something is in the language of the agent,
// or in its own words.
func TestHookStopsInTheLanguageOfTheAgent(t *testing.T) {
	t.Parallel()
	fault := func(context.Context, hooks.Call) (hooks.Outcome, error) { return hooks.Outcome{}, errors.New("down") }
	for name, tt := range map[string]struct {
		hook hooks.Handler
		want string
	}{
		"failed":           {fault, "Die Prüfung fehlt."},
		"without a reason": {answering(hooks.Outcome{Action: hooks.Abort}), "Eine Regel dieses Dienstes hat das gestoppt."},
	} {
		for _, point := range []string{hooks.BeforeMessage, hooks.BeforeModelCall, hooks.BeforeToolCall} {
			t.Run(name+" "+point, func(t *testing.T) {
				w := newWorld(t, bot("ana", script(paying), has(counter(nil)), func(a *actor) {
					a.cfg.Language, a.cfg.Texts = "de", map[string]string{"message_unchecked": "Die Prüfung fehlt."}
				}))
				w.hook(point, hooks.Options{FailClosed: true}, tt.hook)
				w.say("ana", bus.Inbound{Text: "pay"})
				w.expect("error", tt.want)
			})
		}
	}
}

// What another call of the same answer waits for is waited for no more.
func TestHookAbortsBesideAQuestion(t *testing.T) {
	t.Parallel()
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

// A task is a route: what a hook says of it is laid over it, and must leave one.
func TestOverrideOfARoute(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ value, kind, want string }{
		"text":          {`{"text": "changed"}`, "reply", "It says: changed"},
		"no such kind":  {`{"kind": "zonk"}`, "error", couldNotCheck},
		"nothing to do": {`{"text": ""}`, "error", blanked},
		"no object":     {`5`, "error", couldNotCheck},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), bot("ops", script(`rules: [{text: "${text}"}]`)))
			w.hook(hooks.BeforeMessage, hooks.Options{FailClosed: true}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
				if call.Agent != "ops" {
					return hooks.Outcome{}, nil
				}
				return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(tt.value)}}, nil
			})
			w.say("ana", bus.Inbound{Text: "hand over"})
			if out := w.hear(); !strings.Contains(out.Text, strings.TrimPrefix(tt.want, "It says: ")) {
				t.Errorf("heard %s %q, want %q", out.Kind, out.Text, tt.want)
			}
		})
	}
}

// Arguments of a hook are checked as those of a model are, and it is not the
// model that is told to correct them.
func TestHookBreaksTheSchema(t *testing.T) {
	t.Parallel()
	const always = `rules: [{tool_calls: [{name: pay, args: {sum: 5}}]}, {after_tool: "*", text: "It says: ${result}"}]`
	schema := json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)
	for name, permission := range map[string]string{"allowed": "allow", "to be approved": "ask"} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			pay := counter(&n)
			pay.Schema = schema
			w := newWorld(t, bot("ana", script(always), has(pay), func(a *actor) { a.permissions = map[string]string{"pay": permission} }))
			w.hook(hooks.BeforeToolCall, hooks.Options{}, answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"args": json.RawMessage(`{"sum": "5"}`)}}))
			w.say("ana", bus.Inbound{Text: "go"})
			const want = "It says: not run: a hook of this host, not you, changed the arguments"
			if out := w.hear(); out.Kind != "reply" || !strings.HasPrefix(out.Text, want) || !strings.Contains(out.Text, "/sum") {
				t.Errorf("heard %s %q", out.Kind, out.Text)
			}
			if n.Load() != 0 {
				t.Errorf("got %d effects", n.Load())
			}
		})
	}
}

// chooses has two other models beside that of the agent.
func chooses() func(*actor) {
	return func(a *actor) {
		a.models = map[string]string{"small": `rules: [{text: "said the small one"}]`, "broken": `rules: [{error: {status: 500, message: no}}]`}
	}
}

func TestHookChoosesTheModel(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"one": `"small"`, "list": `["broken", "small"]`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), chooses()))
			remove := w.hook(hooks.BeforeModelCall, hooks.Options{}, answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"model": json.RawMessage(value)}}))
			asked := make(chan string, 1)
			forget := w.hook(hooks.AfterModelCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
				asked <- string(call.Args["model"])
				return hooks.Outcome{}, nil
			})
			w.say("ana", bus.Inbound{Text: "hello"})
			w.expect("reply", "said the small one")
			if got, want := <-asked, "["+strings.Trim(strings.ReplaceAll(value, " ", ""), "[]")+"]"; got != want {
				t.Errorf("after the call the models are %s, want %s", got, want)
			}
			forget()
			remove()
			w.say("ana", bus.Inbound{Text: "hello"})
			w.expect("reply", "You said: hello")
		})
	}
}

// A part that has a text and does not say what it is, is a text.
func TestOverrideOfAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying)))
	message := json.RawMessage(`{"role": "assistant", "parts": [{"text": "in other words"}]}`)
	w.hook(hooks.AfterModelCall, hooks.Options{}, answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": message}}))
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", "in other words")
}

// A hook that says whether a tool succeeded is believed.
func TestHookSettlesATool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   hooks.Args
		ok     bool
		result string
	}{
		"failed after all": {hooks.Args{"ok": json.RawMessage(`false`)}, false, "paid"},
		"other words":      {hooks.Args{"result": json.RawMessage(`"***"`)}, true, "***"},
		"not readable":     {hooks.Args{"ok": json.RawMessage(`"no"`), "result": json.RawMessage(`"***"`)}, true, "paid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")})))
			w.hook(hooks.AfterToolCall, hooks.Options{}, answering(hooks.Outcome{Action: hooks.Override, Args: tt.args}))
			told := make(chan llm.Part, 10)
			w.hook(hooks.BeforeModelCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
				var messages []llm.Message
				if err := json.Unmarshal(call.Args["messages"], &messages); err != nil {
					return hooks.Outcome{}, err
				}
				if last := messages[len(messages)-1]; last.Role == llm.Tool {
					told <- last.Parts[0]
				}
				return hooks.Outcome{}, nil
			})
			w.say("ana", bus.Inbound{Text: "pay"})
			w.expect("reply", "It says: "+tt.result)
			if got := <-told; got.Error == tt.ok {
				t.Errorf("the model was told %+v", got)
			}
		})
	}
}

// couldNotCheck is what a person is told of the fault of a hook that fails
// closed.
const couldNotCheck = "A required check is unavailable right now, so I can't process this. Please try again later."

// A tool that a hook takes out of a request does not run when the model asks for it all the same:
// there is no such tool, for that request.
func TestToolThatAHookTakesOut(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]func(*actor){
		"of a model": script(`
rules:
  - {when: pay, tool_calls: [{name: pay, args: {path: a}}, {name: look, args: {}}]}
  - {after_tool: "*", text: Done.}
`),
		"of a behavior": does(doer{decide: func(_ context.Context, t agents.Turn) (agents.Answer, error) {
			if t.Messages[len(t.Messages)-1].Role == llm.Tool {
				return agents.Say("Done."), nil
			}
			return agents.Use("pay", map[string]string{"path": "a"}).Use("look", map[string]string{}), nil
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			pay, look := r.tool(), lookTool()
			pay.Name, pay.ReadOnly, look.Schema = "pay", true, anything
			w := newWorld(t, bot("ana", model, has(pay, look)))
			remove := w.hook(hooks.BeforeModelCall, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
				var offered []llm.ToolDef
				if err := json.Unmarshal(call.Args["tools"], &offered); err != nil {
					return hooks.Outcome{}, err
				}
				left, err := json.Marshal(slices.DeleteFunc(offered, func(def llm.ToolDef) bool { return def.Name == "pay" }))
				return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"tools": left}}, err
			})
			w.say("ana", bus.Inbound{Text: "pay"})
			w.expect("reply", "Done.")
			if got := w.toolResults(); len(got) != 2 || got[0] != `there is no tool "pay"` || len(r.ran()) > 0 {
				t.Errorf("the model got %q, and %q ran", got, r.ran())
			}
			if _, err := run.Replay(w.log("ana", "ana/dm/ana")); err != nil {
				t.Error(err)
			}
			remove()
			w.say("ana", bus.Inbound{Text: "pay"})
			w.expect("reply", "Done.")
			if got := r.ran(); !slices.Equal(got, []string{"a"}) {
				t.Errorf("without the hook %q ran", got)
			}
		})
	}
}
