package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/tools"
)

// acts are what hooks did, by the event of the log that has it.
func acts(events []run.Event) (list []string) {
	add := func(where run.EventType, all []run.HookAct) {
		for _, a := range all {
			list = append(list, strings.TrimSpace(strings.Join(append([]string{string(where), a.Point, a.Hook, a.Action, a.Call, a.Reason, a.Error}, a.Args...), " ")))
		}
	}
	for _, e := range events {
		for _, in := range e.Inputs {
			add(e.Type, in.Hooks)
		}
		if e.Input != nil {
			add(e.Type, e.Input.Hooks)
		}
		add(e.Type, e.Hooks)
	}
	return list
}

// overriding changes one argument to what f makes of it.
func overriding(name, value string) hooks.Handler {
	return answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{name: json.RawMessage(value)}})
}

func failing(context.Context, hooks.Call) (hooks.Outcome, error) {
	return hooks.Outcome{}, errors.New("the responder is away")
}

// The log has what hooks did to a run, and it is replayed like any other.
func TestLogHasWhatHooksDid(t *testing.T) {
	t.Parallel()
	pay := tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")}
	tests := map[string]struct {
		hooks map[string]hooks.Handler
		opts  hooks.Options
		want  []string
	}{
		"all continue": {hooks: map[string]hooks.Handler{
			hooks.BeforeMessage: answering(hooks.Outcome{}), hooks.BeforeModelCall: answering(hooks.Outcome{Action: hooks.Continue}),
			hooks.AfterToolCall: answering(hooks.Outcome{}),
		}},
		"overrides": {
			hooks: map[string]hooks.Handler{
				hooks.BeforeMessage:  overriding("message", `{"text":"pay now"}`),
				hooks.BeforeToolCall: overriding("args", `{"sum":3}`),
				hooks.AfterToolCall:  overriding("result", `"paid less"`),
			},
			want: []string{
				"run.started before_message test override    message",
				"tool.finished before_tool_call test override CALL   args",
				"tool.finished after_tool_call test override CALL   result",
			},
		},
		"failures": {
			hooks: map[string]hooks.Handler{hooks.BeforeMessage: failing, hooks.BeforeModelCall: failing, hooks.AfterToolCall: failing},
			want: []string{
				"run.started before_message test failed   the responder is away",
				"model.called before_model_call test failed   the responder is away",
				"tool.finished after_tool_call test failed CALL  the responder is away",
				"model.called before_model_call test failed   the responder is away",
			},
		},
		"aborted before the message": {
			hooks: map[string]hooks.Handler{hooks.BeforeMessage: answering(hooks.Outcome{Action: hooks.Abort, Reason: "Not here."})},
			want:  []string{"run.started before_message test abort  Not here."},
		},
		"aborted before the model": {
			hooks: map[string]hooks.Handler{hooks.BeforeModelCall: answering(hooks.Outcome{Action: hooks.Abort, Reason: "Not today."})},
			want:  []string{"run.finished before_model_call test abort  Not today."},
		},
		"aborted before the tool": {
			hooks: map[string]hooks.Handler{hooks.BeforeToolCall: answering(hooks.Outcome{Action: hooks.Abort, Reason: "No paying."})},
			want:  []string{"tool.finished before_tool_call test abort CALL No paying."},
		},
		"fails closed": {
			opts:  hooks.Options{FailClosed: true},
			hooks: map[string]hooks.Handler{hooks.BeforeModelCall: failing},
			want:  []string{"run.finished before_model_call test abort   the responder is away"},
		},
		"late": {
			opts: hooks.Options{Timeout: time.Millisecond},
			hooks: map[string]hooks.Handler{hooks.BeforeModelCall: func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
				<-ctx.Done()
				return hooks.Outcome{}, ctx.Err()
			}},
			want: []string{
				"model.called before_model_call test failed   no answer within 1ms",
				"model.called before_model_call test failed   no answer within 1ms",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(paying), has(pay)))
			for point, h := range tt.hooks {
				w.hook(point, tt.opts, h)
			}
			w.say("ana", bus.Inbound{Text: "pay"})
			w.hear()
			events := w.log("ana", anaKey)
			got := acts(events)
			for i := range got {
				for _, e := range events {
					if e.Type == run.ToolRequested {
						got[i] = strings.ReplaceAll(got[i], e.Call, "CALL")
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("in the log (-want +got):\n%s", diff)
			}
			if _, err := run.Replay(events); err != nil {
				t.Errorf("replay: %v", err)
			}
		})
	}
}

// A message outside of any run has in the log what hooks did with it.
func TestLogHasWhatHooksDidToAMessageThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, Run: text("paid")})))
	w.say("ana", bus.Inbound{Text: "pay"})
	if out := w.hear(); out.Kind != "approval" {
		t.Fatalf("heard %s %q", out.Kind, out.Text)
	}
	w.hook(hooks.BeforeMessage, hooks.Options{}, overriding("message", `{"text":"hello"}`))
	w.say("ana", bus.Inbound{Text: "something else"})
	w.hear() // that the approval is waited for
	w.eventually("the message in the log", func() bool { events, _ := w.wholeLog(); return len(acts(events)) > 0 })
	w.say("ana", bus.Inbound{Text: "approve"})
	w.expect("reply", "It says: paid")
	w.expect("reply", "You said: hello")
	events, _ := w.wholeLog()
	want := []string{"input.added before_message test override    message", "run.started before_message test override    message"}
	if diff := cmp.Diff(want, acts(events)); diff != "" {
		t.Errorf("in the log (-want +got):\n%s", diff)
	}
}
