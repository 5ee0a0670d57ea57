package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
)

func text(s string) func(context.Context, tools.Call) (tools.Result, error) {
	return func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{Text: s}, nil }
}

var anything = json.RawMessage(`{"type":"object"}`)

func bot(id string, more ...func(*actor)) actor {
	a := actor{cfg: agents.Config{ID: id, Description: "Knows " + id + ".", Channels: []agents.Binding{{Channel: id}}}}
	for _, m := range more {
		m(&a)
	}
	return a
}

func script(s string) func(*actor) { return func(a *actor) { a.script = s } }

// onChannel has an agent hear a channel, and no other.
func onChannel(channel string) func(*actor) {
	return func(a *actor) { a.cfg.Channels = []agents.Binding{{Channel: channel}} }
}

func has(list ...tools.Tool) func(*actor) {
	return func(a *actor) { a.tools = append(a.tools, list...) }
}

const paying = `
rules:
  - {when: pay, tool_calls: [{name: pay, args: {sum: 5}}]}
  - {when: ask, tool_calls: [{name: ask_human, args: {}}]}
  - {when: hand over, tool_calls: [{name: delegate, args: {}}]}
  - {when: wait, delay: 60s, text: too late}
  - {after_tool: "*", text: "It says: ${result}"}
  - {text: "You said: ${text}"}
`

func TestToolRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")})))
	w.say("ana", bus.Inbound{Text: "pay"})
	w.expect("reply", "It says: paid")
}

func TestToolFaultsGoBackToTheModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tool tools.Tool
		want string
	}{
		"unknown": {tools.Tool{Name: "other", Run: text("x")}, `It says: there is no tool "pay"`},
		"error":   {tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, errors.New("no money") }}, "It says: no money"},
		"panic":   {tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) { panic("oh") }}, "It says: the tool broke down; its outcome is unknown"},
		"timeout": {tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Timeout: time.Millisecond, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}}, "It says: it took too long and was stopped; its outcome is unknown"},
		"bad arguments": {tools.Tool{Name: "pay", Schema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"string"}}}`), ReadOnly: true, Run: text("x")}, `It says: arguments of "pay": /sum: must be a string, not an integer`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), has(tt.tool)))
			w.say("ana", bus.Inbound{Text: "pay"})
			if out := w.hear(); out.Kind != "reply" || !strings.HasPrefix(out.Text, tt.want[:min(20, len(tt.want))]) {
				t.Errorf("heard %s %q, want %q", out.Kind, out.Text, tt.want)
			}
		})
	}
}

// An away is a source of tools that does not come.
type away struct {
	err   error
	asked chan time.Duration // how long it had
}

func (away) Await(context.Context) {}

func (a away) AwaitTool(ctx context.Context, _ string) error {
	end, _ := ctx.Deadline()
	a.asked <- time.Until(end)
	return a.err
}

// A meeting is a source that is awaited until all others are awaited too.
type meeting struct{ all *sync.WaitGroup }

func (m meeting) Await(context.Context) {
	m.all.Done()
	m.all.Wait()
}

func (meeting) AwaitTool(context.Context, string) error { return tools.ErrNoTool }

// Sources that hang are waited for at once, not one after the other.
func TestSourcesAreAwaitedAtOnce(t *testing.T) {
	t.Parallel()
	source := meeting{all: new(sync.WaitGroup)}
	source.all.Add(3)
	w := newWorld(t, bot("ana", script(paying), func(a *actor) { a.awaits = []engine.Awaiter{source, source, source} }))
	w.say("ana", bus.Inbound{Text: "hi"})
	w.expect("reply", "You said: hi")
}

// A tool whose source is away is waited for, and then said to be unavailable:
// the call was right, so it does not count against the model.
func TestToolWhoseSourceIsAway(t *testing.T) {
	t.Parallel()
	const calls = `rules:
  - {after_tool: "*", times: 4, tool_calls: [{name: pay, args: {}}]}
  - {after_tool: "*", text: "It says: ${result}"}
  - {tool_calls: [{name: pay, args: {}}]}
`
	tests := map[string]struct {
		err  error
		want string
	}{
		"unreachable": {errors.New("service \"billing\": no instance answers"), `It says: tool_unavailable: "pay" cannot be reached: service "billing": no instance answers`},
		"unknown":     {tools.ErrNoTool, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			source := away{tt.err, make(chan time.Duration, 10)}
			w := newWorld(t, bot("ana", script(calls), func(a *actor) { a.awaits = []engine.Awaiter{source} }))
			w.say("ana", bus.Inbound{Text: "pay"})
			out := w.hear()
			if tt.want != "" && (out.Kind != "reply" || out.Text != tt.want) {
				t.Errorf("heard %s %q, want %q", out.Kind, out.Text, tt.want)
			}
			if tt.want == "" && (out.Error == nil || out.Error.Code != "tool_failed") {
				t.Errorf("heard %s %q, want tool_failed", out.Kind, out.Text)
			}
			if had := <-source.asked; had <= 0 || had > 30*time.Second {
				t.Errorf("the source had %v", had)
			}
		})
	}
}

func TestDeniedTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, Run: text("paid")}),
		func(a *actor) { a.permissions = map[string]string{"pay": "deny"} }))
	w.say("ana", bus.Inbound{Text: "pay"})
	if out := w.hear(); !strings.HasPrefix(out.Text, "It says: not allowed") {
		t.Errorf("heard %q", out.Text)
	}
}

// counter is a tool that counts its effects.
func counter(n *atomic.Int64) tools.Tool {
	return tools.Tool{Name: "pay", Schema: anything, Run: func(context.Context, tools.Call) (tools.Result, error) {
		n.Add(1)
		return tools.Result{Text: "paid"}, nil
	}}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		say     func(w *world, asked bus.Outbound)
		text    string
		effects int64
	}{
		"word in the chat": {func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "Approve"}) }, "It says: paid", 1},
		"deny":             {func(w *world, _ bus.Outbound) { w.say("ana", bus.Inbound{Text: "deny"}) }, "It says: denied", 0},
		"by call": {func(w *world, asked bus.Outbound) {
			w.say("ana", bus.Inbound{Text: "approve", Answers: asked.Call})
		}, "It says: paid", 1},
		"by route": {func(w *world, _ bus.Outbound) {
			all, err := agents.AllWaiting(w.t.Context(), w.bus.JS)
			if err != nil || len(all) != 1 {
				w.t.Fatalf("waiting: %v, %v", all, err)
			}
			w.send("agent.route.ana", bus.Route{Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: all[0].ID, Text: "approve"})
		}, "It says: paid", 1},
	}
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, bot("ana", script(paying), has(counter(&n))))
			w.say("ana", bus.Inbound{Text: "pay"})
			asked := w.hear()
			if asked.Kind != "approval" || asked.Final || asked.Call == "" || len(asked.Options) != 2 {
				t.Fatalf("heard %+v", asked)
			}
			w.settled()
			tt.say(w, asked)
			if out := w.expect("reply", tt.text); !out.Final {
				t.Error("the reply is not final")
			}
			if n.Load() != tt.effects {
				t.Errorf("got %d effects, want %d", n.Load(), tt.effects)
			}
			w.settled()
			w.silent()
		})
	}
}

// settled waits until nothing is held by any lane.
func (w *world) settled() {
	w.t.Helper()
	w.eventually("nothing held", func() bool {
		for _, name := range bus.LaneStreams() {
			stream, err := w.bus.JS.Stream(w.t.Context(), name)
			if err != nil {
				w.t.Fatal(err)
			}
			list := stream.ListConsumers(w.t.Context())
			for c := range list.Info() {
				if delivery.OfLane(c.Config) && c.NumAckPending+int(c.NumPending) > 0 {
					return false
				}
			}
			if err := list.Err(); err != nil {
				w.t.Fatal(err)
			}
		}
		return true
	})
}

func (w *world) stored(stream string) uint64 {
	w.t.Helper()
	s, err := w.bus.JS.Stream(w.t.Context(), stream)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			w.t.Fatalf("not in 60 s: %s; agents: %+v; not heard: %d", what, w.fleet.Status(), len(w.out))
		case <-tick.C:
		}
	}
}

func TestApprovalSurvivesARestart(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	a := bot("ana", script(paying), has(counter(&n)))
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{Text: "pay"})
	w.hear()
	w.settled()
	w.stop()
	w.start(a)
	w.say("ana", bus.Inbound{ID: "other", Text: "how are you"})
	if out := w.hear(); out.Kind != "notice" || out.Final {
		t.Fatalf("heard %+v", out)
	}
	w.settled()
	w.say("ana", bus.Inbound{Text: "approve"})
	w.expect("reply", "It says: paid")
	if out := w.expect("reply", "You said: how are you"); out.InReplyTo != "other" {
		t.Errorf("in reply to %q", out.InReplyTo)
	}
	if n.Load() != 1 {
		t.Errorf("got %d effects", n.Load())
	}
	w.settled()
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for scope, again := range map[string]map[string]string{
		"once":    {"ana": "approval", "bob": "approval"},
		"session": {"ana": "reply", "bob": "approval"},
		"always":  {"ana": "reply", "bob": "reply"},
	} {
		t.Run(scope, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, bot("ana", script(paying), has(counter(&n))))
			w.say("ana", bus.Inbound{Text: "pay"})
			w.hear()
			w.approve(w.waiting().ID, scope)
			w.expect("reply", "It says: paid")
			for from, kind := range again {
				w.say("ana", bus.Inbound{From: from, Text: "pay again"})
				if out := w.hear(); out.Kind != kind {
					t.Errorf("%s heard %s, want %s", from, out.Kind, kind)
				}
			}
		})
	}
}

// approve is the operator's.
func (w *world) approve(id, scope string) {
	w.t.Helper()
	w.send("agent.route.ana", bus.Route{Kind: "result", From: "ops", Door: bus.DoorCLI, CorrelationID: id, Text: "approve", Scope: scope})
}

func TestTwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, bot("ana", script(paying), has(counter(&n))))
	w.say("ana", bus.Inbound{Text: "pay"})
	asked := w.hear()
	w.settled()
	told := make(chan *nats.Msg, 10)
	if _, err := w.bus.NC.ChanSubscribe("told", told); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.send("agent.route.ana", bus.Route{Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve", ReplyTo: "told"})
	}
	w.expect("reply", "It says: paid")
	errs := 0
	for range 2 {
		select {
		case m := <-told:
			r := bus.Route{}
			if err := json.Unmarshal(m.Data, &r); err != nil {
				t.Fatal(err)
			}
			if r.Error != nil {
				errs++
			}
		case <-time.After(60 * time.Second):
			t.Fatal("who answered is not told")
		}
	}
	if errs != 1 || n.Load() != 1 {
		t.Errorf("%d were refused, %d effects", errs, n.Load())
	}
}

func TestApprovalThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	a := bot("ana", script(paying), has(counter(&n)))
	a.cfg.Limits.ApprovalTimeout = time.Second
	w := newWorld(t, a)
	said := time.Now()
	w.say("ana", bus.Inbound{Text: "pay"})
	w.hear()
	if out := w.expect("notice", "No answer came in time, so this was not done: Ana wants to use pay with sum=5."); out.Call == "" {
		t.Errorf("%+v names no call", out)
	}
	w.expect("reply", "It says: not approved: no answer came before the deadline, so it was not run")
	if took := time.Since(said); n.Load() != 0 || took < time.Second {
		t.Errorf("got %d effects after %v, want none, and not before %v", n.Load(), took, time.Second)
	}
}

func asking(wait tools.Wait) tools.Tool {
	return tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &wait}, nil
	}}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		wait   tools.Wait
		answer string
		want   string
	}{
		"free":    {tools.Wait{Question: true, Prompt: "Which?"}, "the red one", "It says: the red one"},
		"verdict": {tools.Wait{Question: true, Prompt: "Which?"}, "no 2", "It says: no 2"},
		"option":  {tools.Wait{Question: true, Prompt: "Which?", Options: []string{"Red", "Blue"}}, "blue", "It says: Blue"},
		"blanks":  {tools.Wait{Question: true, Prompt: "Which?", Options: []string{" red ", "blue"}}, " red ", "It says:  red "},
		"default": {tools.Wait{Question: true, Prompt: "Which?", Default: "green", Timeout: time.Second}, "", "It says: green (the default: no answer came before the deadline)"},
		"expires": {tools.Wait{Question: true, Prompt: "Which?", Timeout: time.Second}, "", "It says: no answer came before the deadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(paying), has(asking(tt.wait))))
			w.say("ana", bus.Inbound{Text: "ask"})
			w.expect("question", "Which?")
			if tt.answer != "" {
				w.say("ana", bus.Inbound{Text: tt.answer})
			} else if out := w.hear(); out.Kind != "notice" || !strings.HasPrefix(out.Text, "No answer came in time to this question: Which?") || out.Final {
				t.Errorf("heard %+v", out)
			}
			w.expect("reply", tt.want)
			w.settled()
		})
	}
}

// What does not answer the question that it names is refused, says what would,
// and leaves it open.
func TestAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	const open = "This doesn't answer the question, which is still open. Please "
	picture := []bus.Media{{Kind: "image", URL: "https://example.org/a.png"}}
	tests := map[string]struct {
		ask     string
		options []string
		said    bus.Inbound
		want    string
		answer  string
		reply   string
	}{
		"approval": {"pay", nil, bus.Inbound{Text: "perhaps"}, "reply approve or deny.", "deny", "It says: denied"},
		"scope":    {"pay", nil, bus.Inbound{Text: "approve for ever"}, "reply approve or deny.", "deny", "It says: denied"},
		"option":   {"ask", []string{"red", "blue"}, bus.Inbound{Text: "green"}, "reply with one of: red, blue.", "red", "It says: red"},
		"picture":  {"ask", nil, bus.Inbound{Media: picture}, "reply in words.", "red", "It says: red"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			w := newWorld(t, bot("ana", script(paying), has(counter(&n), asking(tools.Wait{Question: true, Prompt: "Which?", Options: tt.options}))))
			w.say("ana", bus.Inbound{Text: tt.ask})
			call := w.hear().Call
			w.settled()
			for _, from := range []string{"ana", "bea"} {
				tt.said.ID, tt.said.From, tt.said.Answers = "of "+from, from, call
				w.say("ana", tt.said)
				if out := w.expect("error", open+tt.want); out.InReplyTo != tt.said.ID || !out.Final {
					t.Errorf("%s heard %+v", from, out)
				}
			}
			w.say("ana", bus.Inbound{Text: tt.answer, Answers: call})
			w.expect("reply", tt.reply)
			w.settled()
		})
	}
}

// The result of a task is for the agent that has it to give, not for a person
// who knows its id.
func TestTaskIsNotAnsweredByAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), bot("ops", script(`rules: [{delay: 60s, text: late}]`)))
	w.say("ana", bus.Inbound{Text: "hand over"})
	var all []agents.Waiting
	w.eventually("handed over", func() bool {
		var err error
		all, err = agents.AllWaiting(t.Context(), w.bus.JS)
		return err == nil && len(all) == 1
	})
	for _, id := range []string{all[0].ID, all[0].Call} {
		w.say("ana", bus.Inbound{Text: "done", Answers: id})
		w.expect("error", "There is no open question that this could answer. It may have been answered already.")
	}
	w.say("ana", bus.Inbound{Text: "/stop"})
	w.expect("error", "Stopped.")
	w.settled()
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("under way", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.say("ana", bus.Inbound{ID: "long", Text: "wait"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		w.say("ana", bus.Inbound{Text: "/stop"})
		if out := w.hear(); out.Error == nil || out.Error.Code != "cancelled" || !out.Final || out.InReplyTo != "long" {
			t.Errorf("heard %+v", out)
		}
		w.settled()
	})
	t.Run("waiting", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?"}))))
		w.say("ana", bus.Inbound{Text: "ask"})
		w.hear()
		w.settled()
		w.say("ana", bus.Inbound{Text: "/stop"})
		if out := w.hear(); out.Error == nil || out.Error.Code != "cancelled" {
			t.Errorf("heard %+v", out)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.say("ana", bus.Inbound{Text: "/stop"})
		if out := w.hear(); out.Error == nil || out.Error.Code != "validation" {
			t.Errorf("heard %+v", out)
		}
	})
	t.Run("by an operator", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying)))
		w.say("ana", bus.Inbound{Text: "wait"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		msg, err := agents.StopMessage("ana", session.DM("ana", "", "ana"), "ops", "Stopped by ops.", "")
		if err != nil {
			t.Fatal(err)
		}
		w.sendMsg(msg)
		w.expect("error", "Stopped by ops.")
	})
}

func TestInterruptAndSteer(t *testing.T) {
	t.Parallel()
	t.Run("interrupt", func(t *testing.T) {
		a := bot("ana", script(paying))
		a.cfg.Session.Queue = session.Interrupt
		w := newWorld(t, a)
		w.say("ana", bus.Inbound{ID: "1", Text: "wait"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		w.say("ana", bus.Inbound{ID: "2", Text: "hello"})
		if out := w.hear(); out.InReplyTo != "1" || out.Error == nil || out.Error.Code != "cancelled" {
			t.Errorf("heard %+v", out)
		}
		if out := w.expect("reply", "You said: hello"); out.InReplyTo != "2" {
			t.Errorf("heard %+v", out)
		}
		w.settled()
	})
	t.Run("steer", func(t *testing.T) {
		release := make(chan struct{})
		a := bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
			<-release
			return tools.Result{Text: "paid"}, nil
		}}))
		a.cfg.Session.Queue = session.Steer
		w := newWorld(t, a)
		w.say("ana", bus.Inbound{ID: "1", Text: "pay"})
		w.eventually("running", func() bool { return w.fleet.Status()[0].Running == 1 })
		w.say("ana", bus.Inbound{ID: "2", Text: "in euros"})
		w.eventually("joined", func() bool { return w.stored(bus.SessionsStream) == 2 }) // the calls, the second message
		close(release)
		if out := w.hear(); !out.Final || out.Text != "You said: in euros" {
			t.Errorf("heard %+v", out)
		}
		w.settled()
		w.silent()
	})
}

func handing(to string) tools.Tool {
	return tools.Tool{Name: "delegate", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{To: to, Prompt: "please hand over"}}, nil
	}}
}

func asks(ids ...string) func(*actor) { return func(a *actor) { a.cfg.Delegates = ids } }

// A task passes through 8 agents at most, and the next one still does it.
func TestDelegationDepth(t *testing.T) {
	t.Parallel()
	for passed, want := range map[int]string{
		7: "It says: done: please hand over", // by b, for a and 7 more
		8: "It says: this task has passed through 8 agents, which is the most",
		9: "This task has passed through too many agents.",
	} {
		t.Run(fmt.Sprint(passed), func(t *testing.T) {
			w := newWorld(t, bot("a", script(paying), has(handing("b")), asks("b")), bot("b", script(`rules: [{text: "done: ${text}"}]`)))
			told := make(chan *nats.Msg, 10)
			if _, err := w.bus.NC.ChanSubscribe("told", told); err != nil {
				t.Fatal(err)
			}
			task := bus.Route{ID: "1", Kind: bus.RouteDelegate, From: "x1", CorrelationID: "c", Text: "hand over", ReplyTo: "told"}
			for n := range passed {
				task.Chain = append(task.Chain, fmt.Sprint("x", n+1))
			}
			w.publish("agent.route.a", task)
			select {
			case m := <-told:
				r := bus.Route{}
				if err := json.Unmarshal(m.Data, &r); err != nil {
					t.Fatal(err)
				}
				if r.Error != nil {
					r.Text = r.Error.Message
				}
				if r.Text != want {
					t.Errorf("got %q, want %q", r.Text, want)
				}
			case <-time.After(60 * time.Second):
				t.Fatal("no result")
			}
		})
	}
}

// A task that a model has written with a NUL reaches the other agent, which would not take one.
func TestDelegationOfANUL(t *testing.T) {
	t.Parallel()
	hand := handing("b")
	hand.Run = func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{To: "b", Prompt: "a\x00b"}}, nil
	}
	w := newWorld(t, bot("a", script(paying), has(hand), asks("b")), bot("b", script(`rules: [{text: "done: ${text}"}]`)))
	w.say("a", bus.Inbound{Text: "hand over"})
	w.expect("reply", "It says: done: a\uFFFDb")
	w.settled()
}

// A result as the contract writes it, with all its fields, is no failure.
func TestResultWithEmptyError(t *testing.T) {
	t.Parallel()
	ops := bot("ops", script(`rules: [{delay: 60s, text: late}]`))
	w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), ops)
	w.say("ana", bus.Inbound{Text: "hand over"})
	id := w.waiting().ID
	w.send("agent.route.ana", bus.Route{Kind: bus.RouteResult, From: "ops", CorrelationID: id, Text: "done", Error: &bus.Error{}})
	w.expect("reply", "It says: done")
}

// waiting is the one call that waits, once one does.
func (w *world) waiting() agents.Waiting {
	w.t.Helper()
	var all []agents.Waiting
	w.eventually("one call waits", func() bool {
		var err error
		all, err = agents.AllWaiting(w.t.Context(), w.bus.JS)
		return err == nil && len(all) == 1
	})
	return all[0]
}

func TestChildAsksThroughItsParent(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(bus.Outbound) bus.Inbound{
		"word": func(bus.Outbound) bus.Inbound { return bus.Inbound{Text: "approve"} },
		"call": func(q bus.Outbound) bus.Inbound { return bus.Inbound{Text: "approve", Answers: q.Call} },
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			child := bot("ops", script(`
rules:
  - {after_tool: pay, text: "ops: ${result}"}
  - {tool_calls: [{name: pay, args: {}}]}
`), has(counter(&n)))
			w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), child)
			w.say("ana", bus.Inbound{Text: "hand over"})
			q := w.hear()
			if q.Kind != "approval" || q.Agent != "ops" || q.To != "ana" {
				t.Fatalf("heard %+v", q)
			}
			w.settled()
			w.say("ana", answer(q))
			heard := map[string]bool{w.hear().Text: true, w.hear().Text: true}
			if !heard["It says: ops: paid"] || !heard["I've passed your answer on to Ops."] || n.Load() != 1 {
				t.Errorf("heard %v, %d effects", heard, n.Load())
			}
			w.settled()
		})
	}
}

func TestAnswerBySchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	tests := map[string]struct{ script, kind, text string }{
		"right at once": {`rules: [{text: '{"n":1}'}]`, "reply", `{"n":1}`},
		"repaired":      {`rules: [{is: go, text: "one"}, {when: not JSON, text: '{"n":"1"}'}, {when: integer, text: '{"n":1}'}]`, "reply", `{"n":1}`},
		"never":         {`rules: [{text: "one"}]`, "error", "I couldn't produce an answer in the required format."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(tt.script), func(a *actor) { a.output = schema }))
			w.say("ana", bus.Inbound{Text: "go"})
			if out := w.expect(tt.kind, tt.text); !out.Final {
				t.Error("the answer is not final")
			}
		})
	}
}

func TestToolAsksWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(bus.Outbound) bus.Inbound
		want   string
	}{
		"word":    {func(bus.Outbound) bus.Inbound { return bus.Inbound{Text: "blue"} }, "Blue"},
		"call":    {func(q bus.Outbound) bus.Inbound { return bus.Inbound{Text: "Blue", Answers: q.Call} }, "Blue"},
		"nothing": {func(q bus.Outbound) bus.Inbound { return bus.Inbound{Text: " ", Answers: q.Call} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var w *world
			asks := tools.Tool{
				Name: "pay", Schema: anything, ReadOnly: true,
				Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
					got, err := w.fleet.Ask(ctx, call, "Which?", []string{"Red", "Blue"})
					return tools.Result{Text: got}, err
				},
			}
			w = newWorld(t, bot("ana", script(paying), has(asks)))
			w.say("ana", bus.Inbound{Text: "pay"})
			q := w.expect("question", "Which?")
			w.eventually("in the list of what waits", func() bool {
				waiting, err := agents.AllWaiting(t.Context(), w.bus.JS)
				return err == nil && len(waiting) == 1 && waiting[0].ID == q.Call
			})
			w.say("ana", tt.answer(q))
			w.expect("reply", "It says: "+tt.want)
			w.settled()
		})
	}
}

// An agent that cannot use its tools, or never stops using them, ends in one
// visible message with its code.
func TestToolsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	fine := tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")}
	picky := tools.Tool{Name: "pay", Schema: json.RawMessage(`{"type":"object","required":["sum"]}`), ReadOnly: true, Run: text("paid")}
	const always = `rules: [{tool_calls: [{name: pay, args: {}}]}, {after_tool: "*", tool_calls: [{name: pay, args: {}}]}]`
	tests := map[string]struct {
		tool tools.Tool
		code string
		runs int
	}{
		"more than 64 calls of the model": {fine, "turn_limit", 64},
		"bad arguments four times":        {picky, "tool_failed", 0},
		"a tool that is not there":        {tools.Tool{Name: "other", Run: text("")}, "tool_failed", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			run := tt.tool.Run
			tt.tool.Run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
				n.Add(1)
				return run(ctx, call)
			}
			w := newWorld(t, bot("ana", script(always), has(tt.tool)))
			w.say("ana", bus.Inbound{Text: "go"})
			out := w.hear()
			if out.Kind != "error" || !out.Final || out.Error == nil || out.Error.Code != tt.code || out.Text == "" {
				t.Errorf("heard %+v", out)
			}
			if int(n.Load()) != tt.runs {
				t.Errorf("the tool ran %d times, want %d", n.Load(), tt.runs)
			}
			w.settled()
			w.silent()
		})
	}
	t.Run("longer than the run may take", func(t *testing.T) {
		slow := tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}}
		a := bot("ana", script(always), has(slow))
		a.cfg.Limits.RunTimeout = 300 * time.Millisecond
		w := newWorld(t, a)
		w.say("ana", bus.Inbound{Text: "go"})
		if out := w.hear(); out.Error == nil || out.Error.Code != "run_timeout" || !out.Final {
			t.Errorf("heard %+v", out)
		}
		w.settled()
		w.silent()
	})
}
