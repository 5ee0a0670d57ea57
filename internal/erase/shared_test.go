package erase_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/erase"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools/memory"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// said is a run of agent ana that one message begins, as a commit of the log of a session.
func said(key session.Key, n int, in run.Input, text string, more ...run.Event) string {
	return saidBehind(nil, key, n, in, text, more...)
}

// saidBehind is said with what the log has before the run.
func saidBehind(before []run.Event, key session.Key, n int, in run.Input, text string, more ...run.Event) string {
	id := fmt.Sprint("r", n)
	env := bus.Inbound{}
	if err := json.Unmarshal(in.Envelope, &env); err != nil {
		panic(err)
	}
	subject := bus.OutboundPrefix + strings.TrimPrefix(in.Subject, bus.InboundPrefix)
	out, err := json.Marshal(bus.Outbound{
		ID: id + ".1", Agent: "ana", Session: string(key), Run: id, Kind: bus.KindReply, To: env.From, Chat: env.Chat, Text: text, InReplyTo: in.OwnID(), Final: true,
	})
	if err != nil {
		panic(err)
	}
	events := slices.Concat(before, []run.Event{{Type: run.Started, Run: id, Trigger: run.ByMessage, Inputs: []run.Input{in}}}, more)
	events = append(events,
		run.Event{Type: run.Replied, Reply: &run.Reply{ID: id + ".1", N: 1, Kind: run.KindReply, Final: true, Subject: subject, Envelope: out}},
		run.Event{Type: run.Finished, Run: id, Outcome: run.OutcomeSettled})
	data, err := json.Marshal(map[string]any{"v": 1, "key": key, "run": id, "events": events})
	if err != nil {
		panic(err)
	}
	return "agent.session.ana." + session.SID("ana", key) + " " + string(data)
}

// input is a message as a log has it. logged is the id that the log has of it; empty: its own.
func input(place, logged string, in bus.Inbound) run.Input {
	data, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	one := run.Input{ID: in.ID, Subject: bus.InboundPrefix + place, Seq: 1, Envelope: data}
	if logged != "" {
		one.ID, one.Sent = logged, in.ID
	}
	return one
}

func userMessage(text string) *llm.Message {
	return &llm.Message{Role: llm.User, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
}

// keeps is what a call of remember in a run writes into a log.
func keeps(n int, call, text string) run.Event {
	args, _ := json.Marshal(map[string]string{"text": text})
	return run.Event{Type: run.ToolRequested, Run: fmt.Sprint("r", n), Call: call, Name: "remember", Args: args}
}

func kept(n int, call, key, text string) string {
	id := memory.NoteID("ana", fmt.Sprintf("r%d.%s", n, call))
	return fmt.Sprintf(`$KV.AGENT_MEMORY.ana.%s.%s {"id":"%s","agent":"ana","peer":"%s","session":"%s","text":"%s"}`,
		session.SID("ana", session.Key(key)), id, id, key, key, text)
}

// Accounts that are one session are erased one by one: what was for the one goes, what was for the
// other stays, and what says not whose it is is named.
func TestRunErasesAnAccountOfASharedSession(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"zoe-1", "42"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const key = "irc.y/dm/zoe"
			sid := session.SID("ana", key)
			reply := func(place, to string) string {
				return `{"agent":"ana","session":"` + key + `","to":"` + to + `","text":"At nine o'clock.","in_reply_to":"17"}`
			}
			about := func(place, to string) []string {
				quoted, _ := json.Marshal(reply(place, to))
				return []string{
					`plugin.outbound.` + place + ` ` + reply(place, to),
					`plugin.outbound.` + place + ` {"agent":"ana","session":"` + key + `","kind":"notice","to":"` + to + `","text":"Soon."}`,
					`agent.dead.ana {"agent":"ana","subject":"plugin.outbound.` + place + `","payload":` + string(quoted) + `}`,
					`agent.events.ana.duplicate_id {"agent":"ana","id":"` + place + `:` + to + `:17","session":"` + key + `","other":"irc.x/dm/bo","subject":"plugin.inbound.` + place + `","seq":7}`,
					`$KV.AGENT_WAITING.ana.` + sid + `.` + to + ` {"id":"ana.` + sid + `.` + to + `","agent":"ana","session":"` + key + `","prompt":"Ok?","origin":{"agent":"ana","session":"` + key + `","subject":"plugin.outbound.` + place + `","to":"` + to + `"}}`,
				}
			}
			w.put(about("irc.y", "zoe")...)
			w.put(
				`plugin.outbound.irc.x {"agent":"ana","session":"irc.x/dm/bo","to":"bo","text":"At nine o'clock."}`,
				kept(1, "c1", key, "Likes tea."), kept(9, "c9", key, "Of a log that is gone."),
				`agent.session.ana.`+sid+` {"v":1,"key":"`+key+`"}`, // the log is one commit afterwards
			)
			want, _ := w.left()
			w.put(about("irc.x", from)...)
			w.put(
				said(key, 1, input("irc.y", "", bus.Inbound{ID: "17", From: "zoe", Text: "of another account"}), "Noted.", keeps(1, "c1", "Likes tea.")),
				said(key, 2, input("irc.x", "irc.x/dm/"+from+":17", bus.Inbound{ID: "17", From: from, Text: "when?"}), "At nine o'clock.", keeps(2, "c1", "Has an appointment.")),
				kept(2, "c1", key, "Has an appointment."),
			)
			report, err := w.erase("irc.x/"+from, "")
			if err != nil {
				t.Fatalf("%+v, %v", report, err)
			}
			got, all := w.left()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what is left: %s\n%s", diff, all)
			}
			for _, gone := range []string{`"` + from + `"`, `"` + from + `\"`, `\"` + from + `\\"`, "dm/" + from, ":" + from + ":", "when?", "Soon.\",\"to\":\"" + from, "appointment."} {
				if bytes.Contains(all, []byte(gone)) {
					t.Errorf("%q is left in %s", gone, all)
				}
			}
			if !slices.ContainsFunc(report.Kept, func(one string) bool {
				return strings.Contains(one, key) && strings.Contains(one, "2 notes")
			}) {
				t.Errorf("kept: %q", report.Kept)
			}
			if again, err := w.erase("irc.x/"+from, ""); err != nil || again.Total() != 0 {
				t.Errorf("again: got %v, %v", again.Counts, err)
			}
		})
	}
}

// Two chats may number their messages alike, and what was said is known also by an erasure that goes
// on with one before.
func TestRunKnowsMessagesByTheirChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	consumer, err := w.js.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: "plugin-irc", FilterSubject: "plugin.outbound.irc", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	for chat, word := range map[string]string{"1": "ZEBRA", "2": "HORSE"} {
		key := session.Group("irc", "", chat, "")
		w.put(
			said(key, 1, input("irc", "", bus.Inbound{ID: "17", From: "zoe-1", Chat: chat, Group: true, Text: word}), "Yes."),
			said(key, 2, input("irc", "", bus.Inbound{ID: "18", From: "bo", Chat: chat, Group: true, Text: "And I?"}), "No."),
			`plugin.outbound.irc {"agent":"ana","session":"`+string(key)+`","to":"bo","chat":"`+chat+`","text":"You two said: `+word+`","in_reply_to":"18","merged":["17","18"]}`,
		)
	}
	if report, err := w.erase("irc/zoe-1", ""); !errors.Is(err, erase.ErrBusy) {
		t.Fatalf("got %+v, %v, want %v", report, err, erase.ErrBusy)
	}
	for range 2 {
		msg, err := consumer.Next()
		if err == nil {
			err = msg.DoubleAck(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if report, err := w.erase("irc/zoe-1", ""); err != nil {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, all := w.left(); bytes.Contains(all, []byte("ZEBRA")) || bytes.Contains(all, []byte("HORSE")) || !bytes.Contains(all, []byte("And I?")) {
		t.Errorf("left: %s", all)
	}
}

// Several people may write in a session of a door that a client has named.
func TestRunErasesOneOfSeveralAtADoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "openai/dm/project"
	request := func(name, id string) string {
		return `$KV.AGENT_REQUESTS.` + name + ` {"sum":"abc","agent":"ana","conversation":"project","id":"` + id + `"}`
	}
	w.put(request("key.b", "b1"), request("response.b", "b1"),
		`plugin.outbound.openai {"agent":"ana","session":"`+key+`","to":"bo","text":"Yes.","in_reply_to":"b1"}`,
		`agent.session.ana.`+session.SID("ana", key)+` {"v":1,"key":"`+key+`"}`)
	want, _ := w.left()
	history := []bus.Turn{{Role: bus.TurnUser, Text: "my wife"}, {Role: bus.TurnAssistant, Text: "I see."}}
	w.put(
		saidBehind([]run.Event{{Type: run.MessageAdded, Message: userMessage("my wife")}}, key, 1,
			input("openai", "", bus.Inbound{ID: "z1", From: "zoe-1", Conversation: "project", Text: "is ill", History: history}), "Sorry.",
			run.Event{Type: run.MessageAdded, Message: userMessage("is ill")}),
		said(key, 2, input("openai", "", bus.Inbound{ID: "b1", From: "bo", Conversation: "project", Text: "And mine?"}), "Yes.",
			run.Event{Type: run.MessageAdded, Message: userMessage("And mine?")}),
		request("key.z", "z1"), request("body.z", "z2"), request("response.z", "z1"),
		`plugin.inbound.openai {"id":"z2","from":"zoe-1","conversation":"project","agent":"ana","text":"still here"}`,
		`plugin.outbound.openai {"agent":"ana","session":"`+key+`","to":"zoe-1","text":"Sorry.","in_reply_to":"z1"}`,
	)
	report, err := w.erase("openai/zoe-1", "")
	if err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	got, all := w.left()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left: %s\n%s", diff, all)
	}
	if bytes.Contains(all, []byte("zoe-1")) || bytes.Contains(all, []byte("my wife")) || bytes.Contains(all, []byte("is ill")) || !bytes.Contains(all, []byte("And mine?")) {
		t.Errorf("left: %s", all)
	}
	if report.Counts[erase.Requests] != 3 {
		t.Errorf("got %v", report.Counts)
	}
}

// What an approver answers in a session that accounts share is named by the account in the log of
// the session that has asked.
func TestRunErasesTheAccountOfAnApprover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const id = "irc.x/dm/42:17"
	answer := run.Input{
		ID: id, Subject: "agent.route.ana", Seq: 3,
		Envelope: []byte(`{"id":"` + id + `","kind":"result","from":"42","correlation_id":"c","text":"approve","door":"plugin.inbound.irc.x"}`),
	}
	w.put(said("irc.y/dm/bo", 1, input("irc.y", "", bus.Inbound{ID: "1", From: "bo", Text: "write it"}), "Done.",
		run.Event{Type: run.ApprovalAnswered, Call: "c1", Answer: "approve", By: "42", Door: "plugin.inbound.irc.x", Input: &answer}))
	report, err := w.erase("irc.x/42", "")
	if err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, all := w.left(); bytes.Contains(all, []byte("dm/42")) || bytes.Contains(all, []byte(`"42"`)) || !bytes.Contains(all, []byte("write it")) {
		t.Errorf("left: %s", all)
	}
}

// The log of a schedule has to whom its firings were told: no chat is named there.
func TestRunErasesAReaderOfASchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "schedule/morning"
	w.put(`agent.session.ana.`+session.SID("ana", key)+` {"v":1,"key":"`+key+`","run":"r1","events":[{"type":"reply","reply":{"id":"r1.1","n":1,"kind":"notice","subject":"plugin.outbound.irc.x","envelope":{"agent":"ana","session":"`+key+`","kind":"notice","to":"42","text":"Good morning."}}}]}`,
		`plugin.outbound.irc.x {"agent":"ana","session":"`+key+`","kind":"notice","to":"42","text":"Good morning."}`)
	report, err := w.erase("irc.x/42", "")
	if err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if left, all := w.left(); len(left) != 1 || bytes.Contains(all, []byte(`"42"`)) || !bytes.Contains(all, []byte("Good morning.")) {
		t.Errorf("left: %s", all)
	}
}

// An erasure that was cut off behind the log knows from its journal which notes and requests are the
// person's.
func TestRunGoesOnWithNotesAndRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "openai/dm/project"
	w.put(kept(1, "c1", key, "Of another."), `$KV.AGENT_REQUESTS.key.b {"agent":"ana","conversation":"project","id":"b1"}`,
		`$KV.AGENT_REQUESTS.key.c {"agent":"ana","conversation":"other","id":"z1"}`)
	want, _ := w.left()
	w.put(kept(2, "c1", key, "Of hers."), `$KV.AGENT_REQUESTS.key.z {"agent":"ana","conversation":"project","id":"z1"}`)
	store, err := w.js.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	journal := `{"person":"openai/zoe-1","agent":"","takes":["` + key + `"],"said":[{"agent":"ana","session":"` + key + `","place":"openai","id":"z1","said":{"text":"hi"}}],"notes":["ana.` + memory.NoteID("ana", "r2.c1") + `"]}`
	if _, err := store.PutString(t.Context(), "erasure-x", journal); err != nil {
		t.Fatal(err)
	}
	report, err := w.erase("openai/zoe-1", "")
	if err != nil || report.Counts[erase.Notes] != 1 || report.Counts[erase.Requests] != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if got, all := w.left(); cmp.Diff(want, got) != "" {
		t.Errorf("what is left: %s\n%s", cmp.Diff(want, got), all)
	}
}

// A message of which the log has the id alone is named by its account there.
func TestRunErasesTheIDOfAWithdrawnMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := session.Key("irc.y/dm/zoe")
	w.put(said(key, 1, input("irc.y", "", bus.Inbound{ID: "1", From: "zoe", Text: "of another account"}), "Yes."),
		`agent.session.ana.`+session.SID("ana", key)+` {"v":1,"key":"`+string(key)+`","events":[{"type":"input.withdrawn","input":{"id":"irc.x/dm/42:18","sent":"18","subject":"plugin.inbound.irc.x","seq":3}}]}`)
	report, err := w.erase("irc.x/42", "")
	if err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, all := w.left(); bytes.Contains(all, []byte("dm/42")) || !bytes.Contains(all, []byte("of another account")) {
		t.Errorf("left: %s", all)
	}
}

// A direct chat may have an id of its own, or that of the person.
func TestRunErasesDirectChats(t *testing.T) {
	t.Parallel()
	for _, chat := range []string{"D-77", "42"} {
		t.Run(chat, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const key = "irc.y/dm/zoe"
			preview := func(name, chat string) string {
				return `$KV.AGENT_CHANNELS.irc.x.preview.` + name + ` {"chat":"` + chat + `\u0000","agent":"ana","id":"1"}`
			}
			w.put(preview("a", "D-771"), `agent.session.ana.`+session.SID("ana", key)+` {"v":1,"key":"`+key+`"}`)
			want, _ := w.left()
			w.put(preview("b", chat),
				said(key, 1, input("irc.y", "", bus.Inbound{ID: "1", From: "zoe", Chat: "D-78", Text: "of another account"}), "Yes."),
				said(key, 2, input("irc.x", "irc.x/dm/42:1", bus.Inbound{ID: "1", From: "42", Chat: chat, Text: "hm"}), "Yes.",
					run.Event{Type: run.OperatorHeard, Address: &run.Address{Subject: "plugin.outbound.irc.x", To: "42", Chat: chat}}))
			report, err := w.erase("irc.x/42", "")
			if err != nil {
				t.Fatalf("%+v, %v", report, err)
			}
			got, all := w.left()
			if diff := cmp.Diff(want, got); diff != "" || bytes.Contains(all, []byte(`"`+chat+`"`)) || !bytes.Contains(all, []byte(`"D-78"`)) {
				t.Errorf("what is left: %s\n%s", diff, all)
			}
		})
	}
}

// The session of accounts that share one is that of the first. With it goes the session, and the
// other accounts are named.
func TestRunErasesTheFirstAccountOfASharedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "irc.y/dm/zoe"
	w.put(`plugin.inbound.irc.x {"id":"17","from":"42","text":"hm"}`)
	want, _ := w.left()
	w.put(
		said(key, 1, input("irc.y", "", bus.Inbound{ID: "17", From: "zoe", Text: "hello"}), "Yes."),
		said(key, 2, input("irc.x", "irc.x/dm/42:17", bus.Inbound{ID: "17", From: "42", Text: "hm"}), "Yes."),
		`plugin.outbound.irc.x {"agent":"ana","session":"`+key+`","to":"42","text":"Yes.","in_reply_to":"17"}`,
		kept(2, "c1", key, "Likes tea."),
	)
	report, err := w.erase("irc.y/zoe", "")
	if err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if got, all := w.left(); cmp.Diff(want, got) != "" {
		t.Errorf("what is left: %s\n%s", cmp.Diff(want, got), all)
	}
	if len(report.Kept) != 1 || !strings.Contains(report.Kept[0], "kept of irc.x/42, who has written in "+key) {
		t.Errorf("kept: %q", report.Kept)
	}
}

// What a client sends as having been said before has the instructions of its program, too, which
// others have as well.
func TestRunLeavesInstructionsOfAClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const instructions = "You answer questions about the orders of a shop."
	for i, from := range []string{"zoe-1", "bo"} {
		key := session.DM("openai", "", fmt.Sprint("own", i))
		history := []bus.Turn{{Role: bus.TurnUser, Text: instructions}}
		w.put(saidBehind([]run.Event{{Type: run.MessageAdded, Message: userMessage(instructions)}}, key, 1,
			input("openai", "", bus.Inbound{ID: "1", From: from, Conversation: fmt.Sprint("own", i), Text: "where is mine?", History: history}), "Here."))
	}
	if report, err := w.erase("openai/zoe-1", ""); err != nil || report.Counts[erase.Sessions] != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if left, all := w.left(); len(left) != 1 || bytes.Contains(all, []byte(erase.Erased)) {
		t.Errorf("left: %s", all)
	}
}

// What the agent noted after another account had written in the run of the person may be of that one.
func TestRunLeavesNotesOfWhoJoinedARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "irc.y/dm/zoe"
	joins := input("irc.y", "", bus.Inbound{ID: "18", From: "zoe", Text: "wait"})
	w.put(kept(2, "c2", key, "Likes tea."))
	want := w.notes()
	w.put(
		said(key, 1, input("irc.y", "", bus.Inbound{ID: "17", From: "zoe", Text: "of another account"}), "Noted."),
		said(key, 2, input("irc.x", "irc.x/dm/bo:17", bus.Inbound{ID: "17", From: "bo", Text: "when?"}), "At nine o'clock.",
			keeps(2, "c1", "Has an appointment."), run.Event{Type: run.InputAdded, Run: "r2", Input: &joins}, keeps(2, "c2", "Likes tea.")),
		kept(2, "c1", key, "Has an appointment."),
	)
	if report, err := w.erase("irc.x/bo", ""); err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if diff := cmp.Diff(want, w.notes()); diff != "" {
		t.Errorf("notes: %s", diff)
	}
}

// notes are the subjects of the notes that there are.
func (w *world) notes() []string {
	subjects, _ := w.left()
	return slices.DeleteFunc(subjects, func(s string) bool { return !strings.HasPrefix(s, "$KV."+bus.MemoryBucket+".") })
}
