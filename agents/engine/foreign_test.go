package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/session"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
)

// What somebody else writes into a session's log delays nobody there, neither
// on the host that has the session in memory nor on the next.
func TestForeignMessagesInALog(t *testing.T) {
	t.Parallel()
	ana := bot("ana", script(`rules: [{text: "You said: ${text}"}]`))
	w := newWorld(t, ana)
	log := session.Subject("ana", session.SID("ana", session.DM("ana", "", "ana")))
	for _, text := range []string{"one", "two", "three"} {
		w.say("ana", bus.Inbound{Text: text})
		w.expect("reply", "You said: "+text)
		w.settled()
		if _, err := w.bus.JS.Publish(t.Context(), log, []byte("not a commit")); err != nil {
			t.Fatal(err)
		}
		if text == "two" {
			w.stop()
			w.start(ana)
		}
	}
}

// A message that is nested deeper than a log can keep is refused, and harms no other: neither
// those of its session nor those that wait in one commit with it.
func TestMessageNestedTooDeep(t *testing.T) {
	t.Parallel()
	a := bot("ana", script(paying), has(asking(tools.Wait{Question: true, Prompt: "Which?", Options: []string{"Red", "Blue"}})))
	w := newWorld(t, a)
	say := func(id, text string) {
		w.say("ana", bus.Inbound{ID: id, From: "bea", Chat: "g", Group: true, Text: text})
	}
	deep := func(id string) {
		t.Helper()
		data := `{"id":"` + id + `","from":"ana","chat":"g","group":true,"text":"deep","meta":{"a":` + strings.Repeat("[", 9998) + strings.Repeat("]", 9998) + `}}`
		if err := w.bus.NC.Publish("plugin.inbound.ana", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	say("q", "ask")
	w.expect("question", "Which?")
	w.settled()
	for i := range 40 {
		say(fmt.Sprint("m", i), fmt.Sprint("n", i))
		if i%10 == 0 {
			deep(fmt.Sprint("d", i))
		}
	}
	refused := 0
	for refused < 4 {
		if out := w.hear(); out.Error != nil {
			if refused++; out.Error.Code != "validation" || !strings.HasPrefix(out.InReplyTo, "d") {
				t.Errorf("heard %+v, want that what is nested too deep is refused", out)
			}
		}
	}
	w.settled()
	w.stop()
	w.start(a)
	say("a", "red")
	for waiting := 40; waiting > 0; {
		if out := w.hear(); out.Final && strings.HasPrefix(out.InReplyTo, "m") {
			waiting--
		}
	}
}

// A session whose log is damaged keeps no other from being served.
func TestDamagedLogOfAnother(t *testing.T) {
	t.Parallel()
	ana := bot("ana", script(paying))
	w := newWorld(t, ana)
	w.say("ana", bus.Inbound{Text: "one"})
	w.expect("reply", "You said: one")
	w.settled()
	w.stop()
	msg := nats.NewMsg(session.Subject("ana", session.SID("ana", session.DM("ana", "", "ana"))))
	msg.Header.Set("Agent-Commit", "x")
	msg.Data = []byte(`{"v":1,`)
	if _, err := w.bus.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	w.start(ana)
	w.say("ana", bus.Inbound{Text: "two"})
	for i := range 10 {
		person := fmt.Sprint("bea", i)
		w.say("ana", bus.Inbound{From: person, Text: "hello"})
		if out := w.expect("reply", "You said: hello"); out.To != person {
			t.Errorf("%s is answered", out.To)
		}
	}
	w.silent()
	if err := deleteLast(t, w, msg.Subject); err != nil {
		t.Fatal(err)
	}
	w.expect("reply", "You said: two")
}

// deleteLast deletes the newest message of a log, as an operator does.
func deleteLast(t *testing.T, w *world, subject string) error {
	t.Helper()
	stream, err := w.bus.JS.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		return err
	}
	last, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		return err
	}
	return stream.DeleteMsg(t.Context(), last.Sequence)
}
