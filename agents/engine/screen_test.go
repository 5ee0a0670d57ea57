package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

const (
	secret   = "SECRET4711"
	redacted = "(taken out)"
)

// redact takes the secret out of every message.
func (w *world) redact() (remove func()) {
	return w.hook(hooks.BeforeMessage, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		message := bytes.ReplaceAll(call.Args["message"], []byte(secret), []byte(redacted))
		return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": message}}, nil
	})
}

// holding are the streams and buckets that hold a text, but for the one that brings
// messages in.
func (w *world) holding(text string) (found []string) {
	w.t.Helper()
	for _, info := range bustest.Streams(w.t, w.bus.JS) {
		name := info.Config.Name
		if name == bus.InboundStream {
			continue
		}
		for _, msg := range bustest.Stored(w.t, w.bus.JS, info) {
			header, err := json.Marshal(msg.Header)
			if err != nil {
				w.t.Fatal(err)
			}
			if strings.Contains(msg.Subject+string(header)+string(msg.Data), text) {
				found = append(found, name+" "+msg.Subject)
			}
		}
	}
	return found
}

// wantRedacted checks that the secret is nowhere, and the text in its place is in
// the log.
func (w *world) wantRedacted() {
	w.t.Helper()
	w.settled()
	if found := w.holding(secret); len(found) > 0 {
		w.t.Errorf("the original is stored on %q", found)
	}
	if found := w.holding(redacted); len(found) == 0 {
		w.t.Error("what the hook left is stored nowhere")
	}
}

// What a before_message hook takes out of a message is stored nowhere, by
// whichever way the message goes.
func TestRedactionBeforeStorage(t *testing.T) {
	t.Parallel()
	question := asking(tools.Wait{Question: true, Prompt: "Which?"})
	t.Run("a message", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.redact()
		w.say("ana", bus.Inbound{ID: "1", Chat: "c", Text: secret, Meta: map[string]any{"note": secret}})
		if out := w.expect("reply", "You said: "+redacted); out.InReplyTo != "1" || out.Chat != "c" {
			t.Errorf("heard %+v", out)
		}
		w.wantRedacted()
	})
	t.Run("plain text", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.redact()
		if err := w.bus.NC.Publish("plugin.inbound.ana", []byte(secret)); err != nil {
			t.Fatal(err)
		}
		w.expect("reply", "You said: "+redacted)
		w.wantRedacted()
	})
	t.Run("an answer", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(question)))
		w.redact()
		w.say("ana", bus.Inbound{Text: "ask"})
		w.expect("question", "Which?")
		w.settled()
		w.say("ana", bus.Inbound{Text: secret})
		w.expect("reply", "It says: "+redacted)
		w.wantRedacted()
	})
	t.Run("what waits behind a question, over a restart", func(t *testing.T) {
		a := bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?", Options: []string{"red", "blue"}})))
		w := newWorld(t, a)
		w.redact()
		w.say("ana", bus.Inbound{Text: "ask"})
		w.hear()
		w.say("ana", bus.Inbound{ID: "2", Text: secret})
		if out := w.hear(); out.Kind != "notice" {
			t.Fatalf("heard %+v", out)
		}
		w.settled()
		w.stop()
		w.start(a)
		fired := new(atomic.Int64)
		w.hook(hooks.BeforeMessage, hooks.Options{}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
			fired.Add(1)
			return hooks.Outcome{}, nil
		})
		w.say("ana", bus.Inbound{Text: "red"})
		w.expect("reply", "It says: red")
		w.expect("reply", "You said: "+redacted)
		if fired.Load() != 0 {
			t.Errorf("the hook saw %d messages, want none: one answers, the other was seen before", fired.Load())
		}
		w.wantRedacted()
	})
	t.Run("what joins a run", func(t *testing.T) {
		release := make(chan struct{})
		a := bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
			<-release
			return tools.Result{Text: "paid"}, nil
		}}))
		a.cfg.Session.Queue = session.Steer
		w := newWorld(t, a)
		w.redact()
		w.say("ana", bus.Inbound{ID: "1", Text: "pay"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		w.say("ana", bus.Inbound{ID: "2", Text: secret})
		w.eventually("joined", func() bool { return w.stored(bus.SessionsStream) == 2 })
		close(release)
		w.expect("reply", "You said: "+redacted)
		w.wantRedacted()
	})
	t.Run("an answer for an agent that works for this one", func(t *testing.T) {
		w := newWorld(t,
			bot("ana", script(paying), has(handing("ops")), asks("ops")),
			bot("ops", script(`rules: [{after_tool: "*", text: "ops heard ${result}"}, {tool_calls: [{name: ask_human, args: {}}]}]`), has(question)))
		w.redact()
		w.say("ana", bus.Inbound{Text: "hand over"})
		w.expect("question", "Which?")
		w.settled()
		w.say("ana", bus.Inbound{Text: secret})
		for {
			if out := w.hear(); out.Text == "It says: ops heard "+redacted {
				break
			} else if strings.Contains(out.Text, secret) {
				t.Fatalf("heard %+v", out)
			}
		}
		w.wantRedacted()
	})
	t.Run("what waits in the mailbox", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.redact()
		w.say("ana", bus.Inbound{Text: "wait"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		w.say("ana", bus.Inbound{Text: secret})
		w.say("ana", bus.Inbound{Text: "/stop"})
		for range 2 {
			w.hear()
		}
		w.wantRedacted()
	})
}

// The hooks see what an edit says, whether the message that it edits is still in the
// mailbox or in the log, where they have seen it.
func TestRedactionOfEdits(t *testing.T) {
	for place, target := range map[string]string{"mailbox": "m01", "log": "m34"} {
		t.Run(place, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.redact()
				w.fill(3)
				w.alter(bus.Inbound{ID: "e1", Edits: target, Text: secret})
				w.pass()
				w.model.release("m00")
				var want []string
				for _, id := range messages(0, 36) {
					text := id
					if id == target {
						text, _, _ = strings.Cut(redacted, " ")
					}
					want = append(want, id+"="+text)
				}
				w.wantSaid(want...)
				if found := w.holding(secret); len(found) > 0 {
					t.Errorf("the original is stored on %q", found)
				}
			})
		})
	}
}

// Of a message that a hook refuses only the reason is stored, also when the hook
// cannot be asked and is to fail closed.
func TestRefusedMessageIsNotStored(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts hooks.Options
		hook hooks.Handler
		want string
	}{
		"abort": {hooks.Options{}, answering(hooks.Outcome{Action: hooks.Abort, Reason: "No secrets, please."}), "No secrets, please."},
		"closed": {hooks.Options{FailClosed: true}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
			return hooks.Outcome{}, context.DeadlineExceeded
		}, couldNotCheck},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?"}))))
			remove := w.hook(hooks.BeforeMessage, tt.opts, tt.hook)
			w.say("ana", bus.Inbound{ID: "1", Chat: "c", Text: secret})
			if out := w.expect("error", tt.want); out.InReplyTo != "1" || out.Chat != "c" || !out.Final {
				t.Errorf("heard %+v", out)
			}
			remove()
			w.say("ana", bus.Inbound{Chat: "c", Text: "ask"})
			w.expect("question", "Which?")
			w.settled()
			w.hook(hooks.BeforeMessage, tt.opts, tt.hook)
			w.say("ana", bus.Inbound{ID: "2", Chat: "c", Text: secret})
			if out := w.expect("error", tt.want); out.InReplyTo != "2" || !out.Final {
				t.Errorf("heard %+v to an answer", out)
			}
			w.settled()
			if found := w.holding(secret); len(found) > 0 {
				t.Errorf("what was refused is stored on %q", found)
			}
		})
	}
}

// A message that has to wait in the log and that a hook refuses is answered at once.
func TestRefusedWhileARunWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?", Options: []string{"red"}}))))
	w.say("ana", bus.Inbound{Text: "ask"})
	w.expect("question", "Which?")
	w.settled()
	w.hook(hooks.BeforeMessage, hooks.Options{}, answering(hooks.Outcome{Action: hooks.Abort, Reason: "No secrets, please."}))
	w.say("ana", bus.Inbound{ID: "2", Text: secret})
	heard := map[string]string{}
	for range 2 {
		out := w.hear()
		heard[out.Kind] = out.Text
	}
	if heard["error"] != "No secrets, please." {
		t.Errorf("heard %q", heard)
	}
	w.say("ana", bus.Inbound{Text: "red"})
	w.expect("reply", "It says: red")
	w.settled()
	w.silent()
	if found := w.holding(secret); len(found) > 0 {
		t.Errorf("what was refused is stored on %q", found)
	}
}

// An agent that holds its stream lets nothing out that after_model_call has not
// passed; then it lets out what that has left.
func TestHoldStream(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		out  hooks.Outcome
		want string
	}{
		"left as it is": {hooks.Outcome{}, "It is noon."},
		"changed": {hooks.Outcome{Action: hooks.Override, Args: hooks.Args{
			"message": json.RawMessage(`{"role":"assistant","parts":[{"type":"text","text":"It is late."}]}`),
		}}, "It is late."},
	} {
		t.Run(name, func(t *testing.T) {
			a := bot("ana", script(`rules: [{chunks: ["It ", "is ", "noon."]}]`))
			a.cfg.HoldStream, a.cfg.Channels = true, []agents.Binding{{Channel: "web"}}
			w := newWorld(t, a)
			msgs := w.listen()
			early := new(atomic.Int64)
			w.hook(hooks.AfterModelCall, hooks.Options{}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
				if err := w.bus.NC.Flush(); err != nil {
					t.Error(err)
				}
				early.Add(int64(len(msgs) + len(w.fleet.Speaking("ana", session.DM("web", "", "ana")))))
				return tt.out, nil
			})
			chunks := w.streamOf(msgs, "go")
			if early.Load() != 0 {
				t.Errorf("%d chunks came before the hook", early.Load())
			}
			if len(chunks) != 2 || chunks[0].Text != tt.want || chunks[1].End != agents.EndDone || chunks[1].Offset != len(tt.want) {
				t.Errorf("got %+v", chunks)
			}
		})
	}
}

// A hook that sees an answer leaves it what it was: the number of the question is cut off what it
// lets through, as off what it has changed.
func TestNumberedAnswerBehindAHook(t *testing.T) {
	t.Parallel()
	where := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{Question: true, Prompt: "Where is " + call.Agent + "?"}}, nil
	}}
	atWork := func(w **world) tools.Tool {
		return tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			got, err := (*w).fleet.Ask(ctx, call, "Which?", nil)
			return tools.Result{Text: got}, err
		}}
	}
	const ops = `
rules:
  - {after_tool: "*", text: "${result}"}
  - {tool_calls: [{name: ask_human, args: {}}]}
`
	tests := map[string]string{ // what the agent does
		"its own":           `[{name: ask_human, args: {}}, {name: ask_human, args: {}}]`,
		"of a delegate":     `[{name: ask_human, args: {}}, {name: delegate, args: {}}]`,
		"of a tool at work": `[{name: pay, args: {}}, {name: pay, args: {}}]`,
	}
	for name, calls := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			w = newWorld(t,
				bot("ana", has(handing("ops"), where, atWork(&w)), asks("ops"), script(`
rules:
  - {when: go, tool_calls: `+calls+`}
  - {after_tool: "*", text: "Done."}
`)),
				bot("ops", has(where), script(ops)))
			w.say("ana", bus.Inbound{Text: "go"})
			w.redact()
			for i, text := range []string{"2: " + secret, "there"} {
				w.eventually("the questions are open", func() bool { return w.questions() == 2-i })
				w.say("ana", bus.Inbound{Text: text})
			}
			w.eventually("the agent has answered", func() bool { return w.hear().Text == "Done." })
			got := w.toolResults()
			if slices.Sort(got); !slices.Equal(got, []string{redacted, "there"}) {
				t.Errorf("the model got %q", got)
			}
		})
	}
}

// questions is how many questions wait.
func (w *world) questions() (n int) {
	w.t.Helper()
	list, err := agents.AllWaiting(w.t.Context(), w.bus.JS)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range list {
		if one.Kind == run.ForQuestion {
			n++
		}
	}
	return n
}
