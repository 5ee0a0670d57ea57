package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

const anaKey = session.Key("ana/dm/ana")

// order gives an order of kate's and returns what the host reports; empty: done.
func (w *world) order(order agents.OperatorOrder, key session.Key, text string) (refused string) {
	w.t.Helper()
	inbox, err := w.bus.NC.SubscribeSync(w.bus.NC.NewInbox())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	msg, err := agents.OperatorMessage(order, bus.DoorCLI, "ana", key, "kate", text, inbox.Subject)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sendMsg(msg)
	told, err := inbox.NextMsgWithContext(bustest.Context(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	route, err := bus.DecodeRoute(told.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	if route.Error != nil {
		return route.Error.Message
	}
	return ""
}

// must is order for one that is carried out.
func (w *world) must(order agents.OperatorOrder, text string) {
	w.t.Helper()
	if refused := w.order(order, anaKey, text); refused != "" {
		w.t.Fatalf("%s is refused: %s", order, refused)
	}
}

// wholeLog is the log of ana's chat as it is by now; driving the machine with it
// again gives the state that it folds to.
func (w *world) wholeLog() (events []run.Event, state run.State) {
	w.t.Helper()
	archive := session.NewArchive(w.bus.JS)
	for f, err := range archive.History(w.t.Context(), "ana", session.SID("ana", anaKey), 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, f.Event)
	}
	state, err := run.Replay(events)
	if err != nil {
		w.t.Fatal(err)
	}
	return events, state
}

// heardEvents are the texts of the messages that an operator was shown.
func heardEvents(events []run.Event) (texts []string) {
	for _, e := range events {
		if e.Type == run.OperatorHeard && e.Message != nil {
			texts = append(texts, e.Message.Text())
		}
	}
	return texts
}

// talk is what the model is sent, a line a message.
func talk(state run.State) (lines []string) {
	for _, m := range state.Messages {
		lines = append(lines, string(m.Role)+": "+m.Text())
	}
	return lines
}

func TestOperatorAnswersInPlaceOfTheAgent(t *testing.T) {
	t.Parallel()
	a := bot("ana", script(dawdling))
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{ID: "m1", Text: "hello", Chat: "c", Thread: "t"})
	w.expect("reply", "hello")
	w.must(agents.OrderTakeOver, "")
	w.say("ana", bus.Inbound{ID: "m2", Text: "I want a person", Chat: "c", Thread: "t"})
	w.say("ana", bus.Inbound{ID: "m3", Text: "/stop", Chat: "c", Thread: "t"})
	w.eventually("both are heard", func() bool { events, _ := w.wholeLog(); return len(heardEvents(events)) == 2 })
	w.settled()
	w.silent()

	w.must(agents.OrderSay, "Kate here.")
	said := w.expect("reply", "Kate here.")
	want := bus.Outbound{
		ID: said.ID, Run: said.Run, SentAt: said.SentAt, Agent: "ana", Session: string(anaKey), Kind: "reply", Text: "Kate here.",
		To: "ana", Chat: "c", Thread: "t", InReplyTo: "m3", Merged: []string{"m2", "m3"}, Final: true,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("what goes out differs (-want +got):\n%s", diff)
	}
	w.must(agents.OrderSay, "And one more thing.")
	if out := w.expect("notice", "And one more thing."); out.Final {
		t.Error("what answers no message is final")
	}

	w.stop() // as the next host finds it
	w.start(a)
	w.say("ana", bus.Inbound{ID: "m4", Text: "thanks", Chat: "c", Thread: "t"})
	w.eventually("it is heard", func() bool { events, _ := w.wholeLog(); return len(heardEvents(events)) == 3 })
	w.must(agents.OrderHandBack, "")
	w.settled()
	w.silent()
	w.say("ana", bus.Inbound{ID: "m5", Text: "bye", Chat: "c", Thread: "t"})
	w.expect("reply", "bye")
	w.settled()
	w.silent()
	_, state := w.wholeLog()
	if diff := cmp.Diff([]string{
		"user: hello", "assistant: hello",
		"user: [The operator kate has taken over this conversation. The answers from here on are of that person, not yours.]",
		"user: I want a person", "user: /stop", "assistant: Kate here.", "assistant: And one more thing.", "user: thanks",
		"user: [The operator kate has handed this conversation back to you. You answer again from here on.]",
		"user: bye", "assistant: bye",
	}, talk(state)); diff != "" {
		t.Errorf("the agent knows (-want +got):\n%s", diff)
	}
}

// What is under way ends, with one reply, in the commit by which the chat is taken over;
// what has waited behind it is heard.
func TestTakeoverEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.busy(bus.Inbound{ID: "behind", Text: "behind"})
	w.must(agents.OrderTakeOver, "")
	out := w.expect("error", "A person has taken over here and answers you from now on.")
	if out.InReplyTo != "slow" || !out.Final || out.Error.Code != "cancelled" {
		t.Errorf("the run ends with %+v", out)
	}
	w.eventually("what has waited is heard", func() bool { events, _ := w.wholeLog(); return len(heardEvents(events)) == 1 })
	w.settled()
	w.silent()
	events, state := w.wholeLog()
	joined := slices.IndexFunc(events, func(e run.Event) bool { return e.Type == run.OperatorJoined })
	ended := slices.IndexFunc(events, func(e run.Event) bool { return e.Type == run.Finished })
	if joined < 0 || ended != joined+2 || events[ended].By != "kate" {
		t.Errorf("the log has the takeover at %d, the end of the run at %d", joined, ended)
	}
	if state.Operator == nil || state.Operator.Address.To != "ana" || !slices.Equal(state.Operator.Open, []string{"behind"}) {
		t.Errorf("the state has the operator %+v", state.Operator)
	}
}

// A run that waits for a person ends too: the question is open no more.
func TestTakeoverEndsARunThatWaits(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	a := bot("ana", script(paying), has(counter(&paid)))
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{ID: "m1", Text: "pay"})
	if out := w.hear(); out.Kind != "approval" {
		t.Fatalf("heard %+v", out)
	}
	w.settled()
	w.must(agents.OrderTakeOver, "")
	w.expect("error", "A person has taken over here and answers you from now on.")
	w.say("ana", bus.Inbound{ID: "m2", Text: "approve"})
	w.eventually("the answer is heard", func() bool { events, _ := w.wholeLog(); return len(heardEvents(events)) == 1 })
	w.settled()
	w.silent()
	if paid.Load() != 0 {
		t.Error("what an operator has taken over was approved")
	}
}

func TestOrdersOfOperatorsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	if got := w.order(agents.OrderTakeOver, anaKey, ""); !strings.Contains(got, "the chat has no message yet") {
		t.Errorf("a takeover of a chat without messages: %q", got)
	}
	w.say("ana", bus.Inbound{ID: "m1", Text: "hello"})
	w.expect("reply", "hello")
	w.send("agent.route.ana", bus.Route{ID: "task", Kind: bus.RouteDelegate, From: "program:x", CorrelationID: "c1", Text: "task"})
	w.settled()
	for name, tt := range map[string]struct {
		order agents.OperatorOrder
		key   session.Key
		want  string
	}{
		"say before a takeover":       {agents.OrderSay, anaKey, "the chat is not taken over"},
		"hand back before a takeover": {agents.OrderHandBack, anaKey, "the chat is not taken over"},
		"take over a task":            {agents.OrderTakeOver, session.Route("program:x", "c1"), "only the chat with a person or a group"},
	} {
		if got := w.order(tt.order, tt.key, "text"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	w.must(agents.OrderTakeOver, "")
	if got := w.order(agents.OrderSay, anaKey, ""); !strings.Contains(got, "the text is empty") {
		t.Errorf("say nothing: %q", got)
	}
	w.settled()
	w.silent()
}

// A program that may give the agent work cannot take its chats over.
func TestProgramIsNoOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.say("ana", bus.Inbound{ID: "m1", Text: "hello"})
	w.expect("reply", "hello")
	msg, err := agents.OperatorMessage(agents.OrderTakeOver, bus.DoorCLI, "ana", anaKey, "kate", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.NC.PublishMsg(msg); err != nil { // unsigned
		t.Fatal(err)
	}
	w.settled()
	w.say("ana", bus.Inbound{ID: "m2", Text: "still you?"})
	w.expect("reply", "still you?")
}

// A hook sees what an operator is shown, and what it refuses is answered.
func TestHooksSeeWhatOperatorsHear(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.say("ana", bus.Inbound{ID: "m1", Text: "hello"})
	w.expect("reply", "hello")
	w.must(agents.OrderTakeOver, "")
	remove := w.redact()
	defer remove()
	w.say("ana", bus.Inbound{ID: "m2", Text: "my card is " + secret})
	w.eventually("it is heard", func() bool { events, _ := w.wholeLog(); return len(heardEvents(events)) == 1 })
	events, _ := w.wholeLog()
	if got := heardEvents(events)[0]; strings.Contains(got, secret) {
		t.Errorf("the log has %q", got)
	}
}

// texts are what went out, each once.
func (w *crashWorld) texts() (list []string) {
	w.t.Helper()
	for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
		out := bus.Outbound{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &out)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, out.Text)
	}
	return list
}

// Whatever of it is lost with a host, what the operator writes goes out once and what
// people write is heard once.
func TestTakeoverOutlivesCrashes(t *testing.T) {
	say := func(w *crashWorld, order agents.OperatorOrder, id, text string) {
		msg, err := agents.OperatorMessage(order, bus.DoorCLI, "ana", anaKey, "kate", text, "")
		if err != nil {
			w.t.Fatal(err)
		}
		w.parts.Publisher.Signer().Sign(msg)
		if _, err := w.js.PublishMsg(w.t.Context(), msg); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, hold := range map[string]func(*crashWorld){
		"before the commit": func(w *crashWorld) { w.commits.hold() },
		"before the reply":  func(w *crashWorld) { w.replies.hold() },
		"before the ack":    func(w *crashWorld) { w.rest.hold() },
	} {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.tell("m00")
				w.pass()
				say(w, agents.OrderTakeOver, "o1", "")
				w.pass()
				w.tell("m01")
				w.pass()
				hold(w)
				say(w, agents.OrderSay, "o2", "m01")
				w.tell("m02")
				w.pass()
				w.crash()
				w.begin()
				w.pass()
				say(w, agents.OrderSay, "o3", "m02")
				w.pass()
				say(w, agents.OrderHandBack, "o4", "")
				w.pass()
				w.tell("m03")
				w.pass()
				if got := heardEvents(w.committed(run.OperatorHeard)); !slices.Equal(got, []string{"m01", "m02"}) {
					t.Errorf("heard %q", got)
				}
				if got := w.texts(); !slices.Equal(got, []string{"m00", "m01", "m02", "m03"}) {
					t.Errorf("out went %q", got)
				}
				w.settled()
			})
		})
	}
}
