package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/internal/waittest"
	"agenthost/tools"
)

// watcher is an agent with a heartbeat that speaks up when there is something.
func watcher(script string) actor {
	return actor{cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "demo"}}}, script: script}
}

var toAna = &bus.Origin{Agent: "ana", Subject: "plugin.outbound.demo", To: "bea"}

// tick brings a tick of ana's heartbeat.
func (w *world) tick(n int, prompt string) {
	w.t.Helper()
	w.publish("agent.due.ana", bus.Route{
		ID: fmt.Sprint("tick", n), Kind: bus.RouteHeartbeat, Text: prompt, Due: time.Now().Add(time.Duration(n) * time.Second), Origin: toAna,
	})
}

func TestHeartbeatSpeaksUpOnlyWithSomethingToSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, watcher(`
rules:
  - {when: quiet, text: " NOTHING\n"}
  - {when: empty, text: ""}
  - {when: broken, error: {status: 400, message: no}}
  - {text: "${text}"}
`))
	for i, prompt := range []string{"quiet", "empty", "broken", "a mail has come"} {
		w.tick(i, prompt)
	}
	out := w.expect("notice", "a mail has come")
	if out.To != "bea" || out.Agent != "ana" || out.Session != "schedule/heartbeat" || !out.Final || out.InReplyTo != "" {
		t.Errorf("got %+v", out)
	}
	w.silent()
}

// holdModel holds calls of models until they are released.
func (w *world) holdModel() (release func()) {
	w.t.Helper()
	held := make(chan struct{})
	w.hook(hooks.BeforeModelCall, hooks.Options{Timeout: time.Minute}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
		<-held
		return hooks.Outcome{}, nil
	})
	return func() { close(held) }
}

// The model hears nothing of ticks that come to nothing; the callback hears of
// each that is new.
func TestBeatDecides(t *testing.T) {
	t.Parallel()
	const script = `rules: [{when: hold, text: held}, {text: "${text}"}]`
	w := newWorld(t, watcher(script))
	w.stop()
	var busy, heard atomic.Int32
	w.change = func(p *engine.Options) {
		p.Beat = func(_ context.Context, _ string, _ time.Time, _, b bool) (first, run bool, err error) {
			if b {
				busy.Add(1)
			}
			return true, !b, nil
		}
		p.OnHeartbeat = func(context.Context, string, time.Time) { heard.Add(1) }
	}
	w.start(watcher(script))
	release := w.holdModel()
	for i := range 3 {
		w.tick(i, "hold")
	}
	waittest.Until(t, "the ticks behind the first", func() bool { return busy.Load() == 2 })
	release()
	w.expect("notice", "held")
	w.silent()
	if busy.Load() != 2 {
		t.Errorf("%d of two ticks found the run of the first", busy.Load())
	}
	waittest.Until(t, "the callback", func() bool { return heard.Load() == 3 })
}

func TestScheduleTellsAnAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, watcher(`rules: [{when: broken, error: {status: 400, message: no}}, {text: "${text}"}]`))
	fire := func(id, text string, due time.Time, missed string) {
		w.publish("agent.due.ana", bus.Route{
			ID: id, Kind: bus.RouteSchedule, From: "morning", Text: text, Due: due, Missed: missed, Origin: toAna,
		})
	}
	fire("late", "too late", time.Now().Add(-time.Hour), "skip")
	fire("1", "good morning", time.Now().Add(-time.Hour), "")
	fire("1", "good morning", time.Now(), "") // the same firing, twice
	morning := w.expect("notice", "good morning")
	if morning.Session != "schedule/morning" || morning.To != "bea" {
		t.Errorf("got %+v", morning)
	}
	fire("2", "broken", time.Now(), "")
	out := w.hear()
	if out.ID == morning.ID { // its firing came again after its end; the stream keeps one
		out = w.hear()
	}
	if out.Kind != "error" || out.To != "bea" { // an error is told where the answer is awaited
		t.Errorf("got %+v", out)
	}
	w.silent()
}

// Firings that pile up behind a run become one.
func TestSchedulePileUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, watcher(`rules: [{text: "${text}"}]`))
	release := w.holdModel()
	for i, text := range []string{"first", "again", "again", "again"} {
		if i == 1 {
			waittest.Until(t, "the first run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
		}
		w.publish("agent.due.ana", bus.Route{ID: fmt.Sprint(i), Kind: bus.RouteSchedule, From: "often", Text: text, Due: time.Now(), Origin: toAna})
	}
	waittest.Until(t, "all others wait", func() bool { return w.fleet.Status()[0].Queued == 3 })
	release()
	w.expect("notice", "first")
	if out := w.expect("notice", "again"); len(out.Merged) != 3 {
		t.Errorf("it answers %v", out.Merged)
	}
	w.silent()
}

// A reminder comes into the conversation in which it was made.
func TestReminderIsPartOfItsChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, watcher(`rules: [{text: "${text}"}]`))
	w.say("demo", bus.Inbound{Text: "hello"})
	hello := w.expect("reply", "hello")
	at := bus.Origin{Agent: "ana", Session: hello.Session, Subject: "plugin.outbound.demo", To: "ana"}
	w.publish("agent.due.ana", bus.Route{ID: "r1", Kind: bus.RouteSchedule, From: "remind-1", Text: "call mum", Due: time.Now(), Origin: &at})
	if out := w.expect("notice", "call mum"); out.Session != hello.Session || out.To != "ana" {
		t.Errorf("got %+v", out)
	}
	w.say("demo", bus.Inbound{Text: "thanks"})
	w.expect("reply", "thanks")
}

func TestRemindCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	asked := make(chan string, 1)
	w.change = func(p *engine.Options) {
		p.Remind = func(_ context.Context, _ texts.Book, id, by string, chat bus.Origin, text string) string {
			asked <- strings.Join([]string{id, by, chat.Agent, chat.Session, chat.Subject, chat.To, text}, "|")
			return "noted"
		}
	}
	w.start(watcher(`rules: [{text: "the model: ${text}"}]`))
	w.say("demo", bus.Inbound{ID: "m1", Text: "/remind in 20m call mum"})
	out := w.expect("reply", "noted")
	if !out.Final || out.InReplyTo != "m1" {
		t.Errorf("got %+v", out)
	}
	if got, want := <-asked, "m1|ana|ana|demo/dm/ana|plugin.outbound.demo|ana| in 20m call mum"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	w.say("demo", bus.Inbound{Text: "not a /remind"})
	w.expect("reply", "the model: not a /remind")
}

// A tool is told in which chat it is used.
func TestToolKnowsItsChat(t *testing.T) {
	t.Parallel()
	chats := make(chan tools.Chat, 1)
	a := watcher(`rules: [{after_tool: "*", text: done}, {tool_calls: [{name: where, args: {}}]}]`)
	a.tools = []tools.Tool{{Name: "where", ReadOnly: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		chats <- call.Chat
		return tools.Result{Text: "here"}, nil
	}}}
	w := newWorld(t, a)
	w.say("demo", bus.Inbound{Text: "go", Chat: "c", Thread: "t"})
	w.expect("reply", "done")
	if got, want := <-chats, (tools.Chat{Session: "demo/dm/ana", Subject: "plugin.outbound.demo", To: "ana", Chat: "c", Thread: "t"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
