package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// asksOnTheWay is a tool that asks which colour while it runs.
func asksOnTheWay(w **world) tools.Tool {
	return tools.Tool{
		Name: "pay", Schema: anything, ReadOnly: true,
		Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			got, err := (*w).fleet.Ask(ctx, call, "Which?", []string{"Red", "Blue"})
			return tools.Result{Text: got}, err
		},
	}
}

const stillWaiting = "I'm still waiting for your answer (Which?). I'll reply to this right after."

// What is no answer to the question of a tool at work waits, and one notice says for what.
func TestNoticeWhileAToolAsks(t *testing.T) {
	t.Parallel()
	for name, queue := range map[string]session.Queue{"followup": session.Followup, "steer": session.Steer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			w = newWorld(t, bot("ana", script(paying), has(asksOnTheWay(&w)), func(a *actor) { a.cfg.Session.Queue = queue }))
			w.say("ana", bus.Inbound{Text: "pay"})
			w.expect("question", "Which?")
			w.say("ana", bus.Inbound{Text: "green"})
			w.expect("notice", stillWaiting)
			w.say("ana", bus.Inbound{Text: "purple"})
			w.say("ana", bus.Inbound{Text: "blue"})
			if queue == session.Followup {
				w.expect("reply", "It says: Blue")
				w.expect("reply", "You said: green")
				w.expect("reply", "You said: purple")
			} else { // they have joined the run
				w.expect("reply", "You said: purple")
			}
			w.settled()
			w.silent()
		})
	}
}

// A message over the rate neither joins nor stops a run whose tool asks.
func TestRateWhileAToolAsks(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]bus.Inbound{"steer": {Text: "green"}, "interrupt": {Text: "green", Priority: "now"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			w = newWorld(t, bot("ana", script(paying), has(asksOnTheWay(&w)), func(a *actor) {
				a.cfg.Session.Queue = session.Steer
				a.cfg.Channels[0].Rate = agents.Rate{Messages: 2, Per: time.Hour}
			}))
			w.say("ana", bus.Inbound{Text: "hello"})
			w.expect("reply", "You said: hello")
			w.say("ana", bus.Inbound{Text: "pay"})
			q := w.expect("question", "Which?")
			w.say("ana", over)
			if out := w.hear(); out.Kind != "notice" {
				t.Fatalf("got %s %q, want a notice of the rate", out.Kind, out.Text)
			}
			w.say("ana", bus.Inbound{Text: "blue", Answers: q.Call})
			for {
				if out := w.hear(); out.Kind != "notice" {
					if out.Kind != "reply" || out.Text != "It says: Blue" {
						t.Errorf("got %s %q", out.Kind, out.Text)
					}
					return
				}
			}
		})
	}
}

// An answer to the question of a running tool that fits none of its options is
// refused at once, and the question stays open.
func TestUnfitAnswerWhileAToolAsks(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, bot("ana", script(paying), has(asksOnTheWay(&w))))
	w.say("ana", bus.Inbound{Text: "pay"})
	q := w.expect("question", "Which?")
	w.eventually("in the list of what waits", func() bool {
		waiting, err := agents.AllWaiting(t.Context(), w.bus.JS)
		return err == nil && len(waiting) == 1
	})
	w.say("ana", bus.Inbound{Text: "green", Answers: q.Call})
	w.expect("error", "This doesn't answer the question, which is still open. Please reply with one of: Red, Blue.")
	w.say("ana", bus.Inbound{Text: "red", Answers: q.Call})
	w.expect("reply", "It says: Red")
	w.settled()
	w.silent()
}

// What was said before a tool at work asks is no answer to it, and waits without a word.
func TestSaidBeforeAToolAsks(t *testing.T) {
	t.Parallel()
	var w *world
	var begun atomic.Bool
	proceed := make(chan struct{})
	asks := asksOnTheWay(&w)
	ask := asks.Run
	asks.Run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
		begun.Store(true)
		<-proceed
		return ask(ctx, call)
	}
	w = newWorld(t, bot("ana", script(paying), has(asks)))
	w.say("ana", bus.Inbound{Text: "pay"})
	w.eventually("the tool is at work", begun.Load)
	w.say("ana", bus.Inbound{Text: "blue"})
	w.eventually("the message waits", func() bool { return w.fleet.Status()[0].Queued == 1 })
	close(proceed)
	w.expect("question", "Which?")
	w.say("ana", bus.Inbound{Text: "red"})
	w.expect("reply", "It says: Red")
	w.expect("reply", "You said: blue")
	w.settled()
	w.silent()
}

// The question of a tool does not outlive its host, and is not listed any more once the
// call has been given up.
func TestQuestionOfAToolAtWorkDiesWithItsHost(t *testing.T) {
	var w *world
	inCrashWorld(t, func(c *crashWorld) {
		w = c.world
		c.model.call = "pay"
		waiting := func() int {
			list, err := agents.AllWaiting(c.t.Context(), c.js)
			if err != nil {
				c.t.Fatal(err)
			}
			return len(list)
		}
		c.tell("pay")
		c.pass()
		if n := waiting(); n != 1 {
			c.t.Fatalf("%d questions wait, want 1", n)
		}
		c.expect("question", "Which?")
		c.crash()
		if n := waiting(); n != 1 {
			c.t.Fatalf("%d questions are left behind, want 1", n)
		}
		c.begin()
		c.expect("reply", "pay")
		c.pass()
		if n := waiting(); n != 0 {
			c.t.Errorf("%d questions wait, want none", n)
		}
		c.settled()
	}, has(asksOnTheWay(&w)))
}

// A tool that may run again asks again on the next host. That is another question: the person
// gets it, and its button answers the tool.
func TestQuestionOfAToolThatRunsAgain(t *testing.T) {
	var w *world
	inCrashWorld(t, func(c *crashWorld) {
		w = c.world
		c.model.call = "pay"
		c.tell("pay")
		c.pass()
		first := c.expect("question", "Which?")
		c.crash()
		c.begin()
		c.pass()
		list, err := agents.AllWaiting(c.t.Context(), c.js)
		if err != nil || len(list) != 1 || list[0].ID == first.Call {
			c.t.Fatalf("wait: %+v, %v; want another than %s", list, err, first.Call)
		}
		if asked := c.asked(); !slices.Equal(asked, []string{first.Call, list[0].ID}) {
			c.t.Errorf("the person is asked under %q, and %s waits", asked, list[0].ID)
		}
		c.say("ana", bus.Inbound{ID: "blue", From: "ana", Text: "blue", Answers: list[0].ID})
		c.pass()
		if results := c.committed(run.ToolFinished); len(results) != 1 || results[0].Result != "Blue" {
			c.t.Errorf("the model is told %+v, want Blue", results)
		}
	}, func(a *actor) {
		again := asksOnTheWay(&w)
		again.Rerun = true
		has(again)(a)
	})
}

// asked are the ids of the questions in the stream that channels read.
func (w *crashWorld) asked() (ids []string) {
	w.t.Helper()
	for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
		out := bus.Outbound{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &out)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if out.Kind == bus.KindQuestion {
			ids = append(ids, out.Call)
		}
	}
	return ids
}

const payTwice = `
rules:
  - {when: pay, tool_calls: [{name: pay, args: {sum: 5}}, {name: pay, args: {sum: 6}}]}
  - {after_tool: "*", text: "Both are paid."}
  - {text: "You said: ${text}"}
`

// Of two questions that tools at work have put in a chat, a word without a number answers the
// oldest, and one with a number the one that has it.
func TestTwoToolsAsk(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options       []string
		says          [2]string
		first, second string
	}{
		"without numbers": {[]string{"Red", "Blue"}, [2]string{"red", "blue"}, "Red", "Blue"},
		"with a number":   {[]string{"Red", "Blue"}, [2]string{"blue 2", "red"}, "Red", "Blue"},
		"the same word":   {[]string{"Red", "Blue"}, [2]string{"red", "red"}, "Red", "Red"},
		"any text":        {nil, [2]string{"2: the blue one", "the red one"}, "the red one", "the blue one"},
		"yes to any text": {nil, [2]string{"yes", "no 7"}, "yes", "no 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			var heard sync.Map // what each tool is told, by its question
			w = newWorld(t, bot("ana", script(payTwice), has(tools.Tool{
				Name: "pay", Schema: anything, ReadOnly: true,
				Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
					prompt := "Which for " + string(call.Args) + "?"
					got, err := w.fleet.Ask(ctx, call, prompt, tt.options)
					heard.Store(prompt, got)
					return tools.Result{Text: got}, err
				},
			})))
			w.say("ana", bus.Inbound{Text: "pay"})
			first, second := w.hear(), w.hear()
			if !strings.HasPrefix(first.Text, "Which for ") || !strings.HasPrefix(second.Text, "Question 2: Which for ") {
				t.Fatalf("asked %q, then %q", first.Text, second.Text)
			}
			for _, text := range tt.says {
				w.say("ana", bus.Inbound{Text: text})
			}
			w.expect("reply", "Both are paid.")
			asked, _, _ := strings.Cut(strings.TrimPrefix(second.Text, "Question 2: "), "\n")
			for prompt, want := range map[string]string{first.Text: tt.first, asked: tt.second} {
				if got, _ := heard.Load(prompt); got != want {
					t.Errorf("%s is answered %v, want %s", prompt, got, want)
				}
			}
			w.settled()
			w.silent()
		})
	}
}

// What has answered the question of a tool is handled once: sent again with its id it answers no
// other question, and is no message of its own.
func TestAnswerToAToolComesAgain(t *testing.T) {
	t.Parallel()
	var w *world
	twice := asksOnTheWay(&w)
	twice.Run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
		first, err := w.fleet.Ask(ctx, call, "First?", nil)
		if err != nil {
			return tools.Result{}, err
		}
		second, err := w.fleet.Ask(ctx, call, "Second?", nil)
		return tools.Result{Text: first + ", " + second}, err
	}
	w = newWorld(t, bot("ana", script(paying), has(twice)))
	w.say("ana", bus.Inbound{Text: "pay"})
	w.expect("question", "First?")
	blue := bus.Inbound{ID: "b1", Text: "blue"}
	w.say("ana", blue)
	w.expect("question", "Second?")
	w.say("ana", blue)
	w.say("ana", bus.Inbound{ID: "r1", Text: "red"})
	w.expect("reply", "It says: blue, red")
	w.say("ana", blue)
	w.settled()
	w.silent()
}

// So it is where the host dies when the run has ended, before its messages are acknowledged.
func TestAnswerToAToolOutlivesACrash(t *testing.T) {
	var w *world
	inCrashWorld(t, func(c *crashWorld) {
		w = c.world
		c.model.call = "pay"
		c.tell("pay")
		c.pass()
		c.expect("question", "Which?")
		c.replies.hold()
		c.tell("blue")
		c.pass()
		if n := len(c.committed(run.Finished)); n != 1 {
			t.Fatalf("%d runs have ended, want 1", n)
		}
		c.crash()
		c.begin()
		c.pass()
		c.expect("reply", "pay")
		c.settled()
		c.silent()
		if by := c.committed(run.InputTaken); len(by) != 1 || by[0].By != "ana" || by[0].Door != "plugin.inbound.ana" {
			t.Errorf("the log has %+v, want who has answered, and where", by)
		}
	}, has(asksOnTheWay(&w)))
}
