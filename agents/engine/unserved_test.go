package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func echoing(id, channel string) actor {
	return actor{cfg: agents.Config{ID: id, Channels: []agents.Binding{{Channel: channel}}}, script: `rules: [{text: "${text}"}]`}
}

// routes counts the messages for an agent that the stream has.
func (w *world) routes(agent string) uint64 {
	w.t.Helper()
	stream, err := w.bus.JS.Stream(w.t.Context(), bus.RoutesStream)
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := stream.Info(w.t.Context(), jetstream.WithSubjectFilter(bus.RoutePrefix+agent))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.State.Subjects[bus.RoutePrefix+agent]
}

// task is a delegate for an agent, with a deadline in so long a time.
func (w *world) task(agent, id, replyTo string, within time.Duration) {
	w.t.Helper()
	w.publish("agent.route."+agent, bus.Route{
		ID: id, Kind: bus.RouteDelegate, From: "cli", CorrelationID: "c-" + id, Text: "a task", ReplyTo: replyTo, Deadline: time.Now().Add(within),
	})
}

// A delegate for an agent that no host has ever known, so that no lane brings it, gets
// an error result at its deadline, once, and is a dead letter. What is no delegate
// stays: a program may listen for it.
func TestTaskOfUnknownAgentGetsAnErrorResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.change = func(p *engine.Options) {
		p.Nearest = func(string, []string) string { return "ana" }
	}
	came := w.results("results.of.ghost")
	w.task("ghost", "1", "results.of.ghost", 500*time.Millisecond)
	w.task("ghost", "2", "results.of.ghost", time.Hour)
	w.publish("agent.route.ghost", bus.Route{ID: "3", Kind: bus.RouteEvent, From: "e", Text: "an event"})
	w.start(echoing("ana", "demo"))
	r := w.result(came)
	if r.Kind != bus.RouteResult || r.From != "ghost" || r.CorrelationID != "c-1" || r.InReplyTo != "1" || r.Error == nil {
		t.Fatalf("got %+v", r)
	}
	if r.Error.Code != "tool_unavailable" || r.Error.Message != `agent "ghost" is not configured; did you mean "ana"?` {
		t.Errorf("got %+v", r.Error)
	}
	waittest.Until(t, "a dead letter, and the others stay", func() bool { return w.letters("ghost") == 1 && w.routes("ghost") == 2 })
	w.stop()
	w.start(echoing("ana", "demo"))
	if len(came) > 0 {
		t.Error("it is answered again after a restart")
	}
}

// A task whose subject another program consumes is that program's.
func TestTaskOfAProgramIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	ctx := t.Context()
	_, err := w.bus.JS.CreateConsumer(ctx, bus.RoutesStream, jetstream.ConsumerConfig{Durable: "program", FilterSubject: "agent.route.program"})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"program", "ghost"} {
		w.task(agent, "1", "results.of."+agent, 0)
	}
	came := w.results("results.of.*")
	w.start(echoing("ana", "demo"))
	if r := w.result(came); r.From != "ghost" {
		t.Errorf("the result is of %s", r.From)
	}
	waittest.Until(t, "the other is ended", func() bool { return w.routes("ghost") == 0 })
	if w.routes("program") != 1 || w.letters("program") != 0 {
		t.Error("the task of a program was ended")
	}
}

// What comes, or comes again, for an agent that was removed is ended in its place:
// tasks whenever they come, channel messages that came while it was bound.
func TestRemovedAgentsMessagesAreEndedInItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echoing("ana", "demo"), echoing("bob", "other"))
	w.say("demo", bus.Inbound{ID: "1", Text: "hello"})
	w.expect("reply", "hello")
	if err := w.fleet.Change(t.Context(), []*engine.Runtime{w.fleet.Runtime("bob")}, nil); err != nil {
		t.Fatal(err)
	}
	came := w.results("results.of.ana")
	w.task("ana", "2", "results.of.ana", time.Hour)
	if r := w.result(came); r.Error == nil || !strings.Contains(r.Error.Message, `agent "ana" is not configured`) || r.InReplyTo != "2" {
		t.Errorf("got %+v", r)
	}
	waittest.Until(t, "all are acknowledged", func() bool { return w.unacknowledged("ana") == 0 && w.letters("ana") == 1 })
	w.say("demo", bus.Inbound{ID: "3", Text: "to a channel without an agent"}) // it waits for one
	w.silent()
}

// A message that names an agent which is not bound to its channel is answered with an error,
// once, whatever is bound there, and is a dead letter: no agent takes it for its own.
func TestMessageForAnAgentThatIsNotBound(t *testing.T) {
	t.Parallel()
	actors := []actor{echoing("carl", "other")}
	for i := range 4 { // in several lanes
		actors = append(actors, echoing(fmt.Sprint("ana", i), "demo"))
	}
	w := newWorld(t, actors...)
	for i, name := range []string{"carl", "unknown", strings.Repeat("x", 5000), "a b.*"} {
		w.say("demo", bus.Inbound{ID: fmt.Sprint("m", i), From: "u1", Agent: name, Text: "hello"})
		out := w.hear()
		if out.Kind != "error" || !out.Final || out.InReplyTo != fmt.Sprint("m", i) || out.To != "u1" || out.Text == "" ||
			out.Error == nil || out.Error.Code != "tool_unavailable" || !strings.Contains(out.Error.Message, "is not bound to this channel") {
			t.Errorf("%.20s: got %+v, %+v", name, out, out.Error)
		}
		waittest.Until(t, "it is a dead letter", func() bool { return w.letters(engine.Unbound) == uint64(i+1) })
	}
	escaped := nats.NewMsg("plugin.inbound.demo") // JSON may write the name of a field so
	escaped.Data = []byte(`{"id":"m8","\u0061gent":"unknown","from":"u1","text":"hello"}`)
	w.sendMsg(escaped)
	if out := w.hear(); out.Kind != "error" || out.InReplyTo != "m8" {
		t.Errorf("an escaped name: got %+v", out)
	}
	byHeader := nats.NewMsg("plugin.inbound.demo") // it goes before the field
	byHeader.Header.Set(bus.AddresseeHeader, "carl")
	byHeader.Data = []byte(`{"id":"m10","agent":"ana2","from":"u1","text":"hello"}`)
	w.sendMsg(byHeader)
	if out := w.hear(); out.Kind != "error" || out.InReplyTo != "m10" {
		t.Errorf("by a header: got %+v", out)
	}
	w.say("demo", bus.Inbound{ID: "m9", From: "u1", Agent: "ana2", Text: "hello"})
	if out := w.expect("reply", "hello"); out.Agent != "ana2" {
		t.Errorf("%s answers", out.Agent)
	}
	w.settled()
	w.silent()
}
