package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/llm/scripted"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	state  = "rojo=00f067aa0ba902b7"
)

// sayTraced is say of a message in a trace.
func (w *world) sayTraced(channel string, in bus.Inbound) {
	w.t.Helper()
	if in.From == "" {
		in.From = "ana"
	}
	data, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	msg := nats.NewMsg("plugin.inbound." + channel)
	msg.Data = data
	msg.Header["traceparent"], msg.Header["tracestate"] = []string{parent}, []string{state}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		w.t.Fatal(err)
	}
}

// next waits for the next message that comes to a subscription.
func (w *world) next(c chan *nats.Msg) *nats.Msg {
	w.t.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(60 * time.Second):
		w.t.Fatal("no message comes")
		return nil
	}
}

func wantHeader(t *testing.T, m *nats.Msg, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := m.Header.Get(key); got != value {
			t.Errorf("%s: header %s is %q, want %q, of %s", m.Subject, key, got, value, m.Data)
		}
	}
}

// subscribe gets all messages on subject from now on.
func (w *world) subscribe(subject string) chan *nats.Msg {
	w.t.Helper()
	c := make(chan *nats.Msg, 1000)
	if _, err := w.bus.NC.ChanSubscribe(subject, c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

var traced = map[string]string{"traceparent": parent, "tracestate": state}

// A reply that has to be published once more goes in the trace of its run, not
// in that of the message that has come again.
func TestTraceOfRepliesSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying)))
	w.sayTraced("ana", bus.Inbound{ID: "m1", Text: "hello"})
	first := w.next(w.out)
	w.settled()
	stream, err := w.bus.JS.Stream(t.Context(), bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say("ana", bus.Inbound{ID: "m1", Text: "hello"})
	again := w.next(w.out)
	wantHeader(t, again, traced)
	if string(again.Data) != string(first.Data) {
		t.Errorf("sent again is %s, want %s", again.Data, first.Data)
	}
}

// Everything that a run sends by route tells what it is, whose, and in which
// trace.
func TestHeadersOfRoutes(t *testing.T) {
	t.Parallel()
	want := map[string]string{"Content-Type": "application/json", "Agent-Session-Key": "ana/dm/ana", "traceparent": parent, "tracestate": state}
	t.Run("task and its end", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), bot("ops", script(`rules: [{delay: 60s, text: late}]`)))
		tasks, events := w.subscribe("agent.route.ops"), w.subscribe("agent.events.ana.>")
		w.sayTraced("ana", bus.Inbound{Text: "hand over"})
		wantHeader(t, w.next(tasks), want)
		id := w.waiting().ID
		w.say("ana", bus.Inbound{Text: "/stop"})
		recall := maps.Clone(want)
		recall["Agent-Session-Key"] = "route/ana/" + id
		wantHeader(t, w.next(tasks), recall)
		w.stop()
		wantHeader(t, w.next(events), map[string]string{"Content-Type": "application/json"})
	})
	t.Run("deadline", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?", Timeout: time.Second}))))
		w.sayTraced("ana", bus.Inbound{Text: "ask"})
		w.expect("question", "Which?")
		w.expect("notice", "No answer came in time to this question: Which?")
		w.expect("reply", "It says: no answer came before the deadline")
		stream, err := w.bus.JS.Stream(t.Context(), bus.SchedulesStream)
		if err != nil {
			t.Fatal(err)
		}
		late, err := stream.GetLastMsgForSubject(t.Context(), "agent.due.ana") // which the server has put there
		if err != nil {
			t.Fatal(err)
		}
		wantHeader(t, &nats.Msg{Subject: late.Subject, Header: late.Header, Data: late.Data}, want)
	})
	t.Run("answer passed on", func(t *testing.T) {
		var n atomic.Int64
		w := newWorld(t, biller(&n))
		w.fire("daily", bus.Origin{Subject: "plugin.outbound.ana", To: "bea"})
		asked := w.hear()
		passed := w.subscribe("agent.route.ana")
		w.sayTraced("ana", bus.Inbound{From: "bea", Text: "approve", Answers: asked.Call})
		of := maps.Clone(want)
		of["Agent-Session-Key"] = "schedule/daily"
		wantHeader(t, w.next(passed), of)
	})
	t.Run("order and answer by another door", func(t *testing.T) {
		w := agents.Waiting{ID: "ana.a.b", Agent: "ana", Session: "ana/dm/ana"}
		answer, err := agents.AnswerMessage(w, "ops", "approve", "", "")
		stop, failed := agents.StopMessage("ana", "ana/dm/ana", "ops", "", "")
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		delete(want, "traceparent")
		delete(want, "tracestate")
		wantHeader(t, answer, want)
		wantHeader(t, stop, want)
	})
}

// A dead letter has the headers that the sender wrote, and no others.
func TestHeadersOfDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying)))
	letters := w.subscribe("agent.dead.ana")
	msg := nats.NewMsg("plugin.inbound.ana")
	msg.Data = []byte(`{"text":`)
	msg.Header = nats.Header{"Nats-Msg-Id": {"web-9"}, "traceparent": {parent}, "X": {"y"}}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	letter := bus.DeadLetter{}
	if err := json.Unmarshal(w.next(letters).Data, &letter); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(msg.Header, letter.Header); diff != "" {
		t.Error(diff)
	}
}

// A tracer is a model that keeps the trace of each request, and calls a tool
// first.
type tracer struct {
	llm.Provider
	seen chan string
}

func (m tracer) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	m.seen <- req.TraceParent + " " + req.TraceState
	return m.Provider.Stream(ctx, req)
}

// The trace of a message goes on to models, tools and hooks. What is no trace
// context stays with the replies.
func TestTraceGoesOn(t *testing.T) {
	t.Parallel()
	rules, err := scripted.Parse([]byte(paying))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	pay := tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		seen <- call.TraceParent + " " + call.TraceState
		return tools.Result{Text: "paid"}, nil
	}}
	a := bot("ana", has(pay))
	a.model = tracer{rules, seen}
	w := newWorld(t, a)
	for _, point := range []string{hooks.BeforeMessage, hooks.BeforeModelCall, hooks.BeforeToolCall} {
		w.hook(point, hooks.Options{}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
			seen <- call.TraceParent + " " + call.TraceState
			return hooks.Outcome{Action: hooks.Continue}, nil
		})
	}
	w.sayTraced("ana", bus.Inbound{ID: "m1", Text: "pay"})
	w.next(w.out)
	if n := len(seen); n != 7 { // a message, two calls of the model and one of a tool, each with its hook, and the tool
		t.Errorf("%d were asked, want 7", n)
	}
	for len(seen) > 0 {
		if got := <-seen; got != parent+" "+state {
			t.Errorf("got trace %q, want %q", got, parent+" "+state)
		}
	}
	msg := nats.NewMsg("plugin.inbound.ana")
	msg.Data = []byte(`{"id":"m2","text":"hello"}`)
	msg.Header["traceparent"] = []string{"my\x01trace"}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	w.next(w.out)
	for len(seen) > 0 {
		if got := <-seen; got != " " {
			t.Errorf("got trace %q, want none", got)
		}
	}
}

// A reply is published with its id, by which the stream knows a second copy.
func TestReplyIsPublishedWithItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying)))
	w.say("ana", bus.Inbound{ID: "m1", Text: "hi"})
	m, out := w.next(w.out), bus.Outbound{}
	if err := json.Unmarshal(m.Data, &out); err != nil {
		t.Fatal(err)
	}
	if id := m.Header.Get(nats.MsgIdHdr); out.ID == "" || id != out.ID {
		t.Errorf("the header %s is %q, want the id of the reply, %q", nats.MsgIdHdr, id, out.ID)
	}
}

// What is said outside of a session names that of the chat, and goes in the trace of what
// has brought it about.
func TestHeadersOfWhatIsSaidAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(paying)))
	w.sayTraced("ana", bus.Inbound{ID: "m1", Text: " "})
	aside := map[string]string{"Agent-Session-Key": "ana/dm/ana", "Content-Type": "application/json"}
	maps.Copy(aside, traced)
	wantHeader(t, w.next(w.out), aside)

	told := w.subscribe("told")
	msg := nats.NewMsg("agent.route.ana")
	msg.Data = []byte(`{"id":"t1","kind":"delegate","reply_to":"told","correlation_id":"c1","text":" "}`)
	msg.Header["traceparent"], msg.Header["tracestate"] = []string{parent}, []string{state}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	wantHeader(t, w.next(told), traced)
}
