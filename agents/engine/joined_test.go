package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/internal/identity"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// joinedWorld is a world in which two accounts of ana's are one session. Both bots number
// her messages from 1.
func joinedWorld(t *testing.T, a actor) *world {
	t.Helper()
	w := newWorld(t)
	w.stop()
	people := &identity.Table{}
	people.Set(map[string]identity.Config{"ana": {Accounts: []string{"chat.sales/ana", "chat.support/ana"}, Shared: true}})
	w.change = func(opt *engine.Options) { opt.Identities = people }
	w.start(inChat(a))
	return w
}

// inChat is an actor that is bound to both accounts.
func inChat(a actor) actor {
	a.cfg.Channels = []agents.Binding{{Channel: "chat", Instance: "*"}}
	return a
}

// Two accounts that are one session may use the same ids: each message is answered, where it
// came from and with the id that it was sent with. Its own repetition is not.
func TestJoinedAccountsMayUseTheSameID(t *testing.T) {
	t.Parallel()
	a := bot("ana", func(a *actor) { a.script = `rules: [{text: "${text}"}]` })
	w := joinedWorld(t, a)
	say := func(instance, text string) {
		t.Helper()
		w.say("chat."+instance, bus.Inbound{ID: "17", Text: text})
	}
	hear := func(text, session string) {
		t.Helper()
		if out := w.expect("reply", text); out.InReplyTo != "17" || out.Session != session {
			t.Errorf("heard %+v, want an answer to 17 in %s", out, session)
		}
	}
	say("sales", "order")
	hear("order", "chat.sales/dm/ana")
	say("support", "printer")
	hear("printer", "chat.sales/dm/ana")
	w.settled()
	say("support", "printer")
	say("sales", "order")
	w.settled()
	w.stop()
	w.start(inChat(a))
	say("support", "printer")
	say("sales", "order")
	w.settled()
	w.silent()
}

// What the two accounts have sent is neither collected nor joins a run of the other: each is
// answered where it came from.
func TestJoinedAccountsAreAnsweredApart(t *testing.T) {
	t.Parallel()
	for _, mode := range []session.Queue{session.Collect, session.Steer} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			model := make(patientModel)
			w := joinedWorld(t, bot("ana", func(a *actor) { a.model, a.cfg.Session.Queue = model, mode }))
			w.say("chat.sales", bus.Inbound{ID: "16", Text: "hello"})
			w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
			w.say("chat.support", bus.Inbound{ID: "16", Text: "printer"})
			w.say("chat.sales", bus.Inbound{ID: "17", Text: "order"})
			w.eventually("both", func() bool { return w.fleet.Status()[0].Queued == 2 })
			close(model)
			var heard []string
			for range 3 {
				subject, out := w.hearOn()
				heard = append(heard, subject+" "+out.InReplyTo+" "+out.Text)
			}
			want := []string{"plugin.outbound.chat.sales 16 hello", "plugin.outbound.chat.support 16 printer", "plugin.outbound.chat.sales 17 order"}
			if !slices.Equal(heard, want) {
				t.Errorf("heard %q, want %q", heard, want)
			}
			w.settled()
			w.silent()
		})
	}
}

// An account withdraws its own message, and not the other's that has the same id.
func TestJoinedAccountsChangeTheirOwn(t *testing.T) {
	t.Parallel()
	model := make(patientModel)
	w := joinedWorld(t, bot("ana", func(a *actor) { a.model = model }))
	w.say("chat.sales", bus.Inbound{ID: "16", Text: "hello"})
	w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
	w.say("chat.sales", bus.Inbound{ID: "17", Text: "order"})
	w.say("chat.support", bus.Inbound{ID: "17", Text: "printer"})
	w.eventually("both", func() bool { return w.fleet.Status()[0].Queued == 2 })
	w.say("chat.support", bus.Inbound{ID: "18", Edits: "17", Text: "scanner"})
	w.say("chat.sales", bus.Inbound{ID: "18", Withdraws: "17"})
	w.eventually("all", func() bool { return w.fleet.Status()[0].Queued == 4 })
	close(model)
	w.expect("reply", "hello")
	if out := w.expect("reply", "scanner"); out.InReplyTo != "17" {
		t.Errorf("heard %+v, want an answer to 17", out)
	}
	w.say("chat.support", bus.Inbound{ID: "19", Edits: "17", Text: "late"})
	late := w.hear()
	w.say("chat.sales", bus.Inbound{ID: "19", Edits: "17", Text: "late"})
	if other := w.hear(); late.Kind != "error" || late.Text != other.Text || late.InReplyTo != "19" || other.InReplyTo != "19" {
		t.Errorf("heard %+v and %+v, want that it is too late", late, other)
	}
	w.settled()
	w.silent()
}

// The end of a run names the orders to stop it by the ids that they were sent with.
func TestJoinedAccountsStopARun(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 2), make(chan struct{})
	w := joinedWorld(t, bot("ana", script(ploughing), has(plough(begun, func(context.Context) (tools.Result, error) {
		<-release
		return tools.Result{}, nil
	}))))
	defer close(release)
	w.say("chat.sales", bus.Inbound{ID: "16", Text: "plough"})
	<-begun
	<-begun
	w.say("chat.support", bus.Inbound{ID: "17", Text: "/stop"})
	w.say("chat.support", bus.Inbound{ID: "18", Text: "/stop"})
	if out := w.expect("error", "Stopped."); !slices.Equal(out.Merged, []string{"16", "17", "18"}) {
		t.Errorf("it is of %q, want those of 16, 17 and 18", out.Merged)
	}
	w.settled()
	w.silent()
}

// A host of before named in the log what came of another account by its id alone. What it has
// done is not done again, and another message with that id is no repetition of it.
func TestJoinedAccountsInALogOfBefore(t *testing.T) {
	t.Parallel()
	key := session.DM("chat", "sales", "ana")
	for name, tt := range map[string]struct {
		logged   string // whose message with that id the log has
		finished bool
		want     []string
	}{
		"answered":       {"support", true, []string{"answered before"}},
		"under way":      {"support", false, []string{"printer"}},
		"of another":     {"sales", true, []string{"answered before", "printer"}},
		"another's runs": {"sales", false, []string{"printer", "printer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := make(patientModel)
			w := joinedWorld(t, bot("ana", func(a *actor) { a.model = model }))
			w.say("chat.support", bus.Inbound{ID: "17", Text: "printer"})
			w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 })
			w.stop()
			in := run.Input{ID: "17", Subject: "plugin.inbound.chat." + tt.logged, Seq: 1, Envelope: encode(t, bus.Inbound{ID: "17", From: "ana", Text: "printer"})}
			if tt.logged != "support" {
				in.Seq = 100
			}
			msg := llm.UserText("printer")
			events := []run.Event{
				{Type: run.Started, At: time.Now(), Run: "r", Trigger: run.ByMessage, Inputs: []run.Input{in}},
				{Type: run.MessageAdded, At: time.Now(), Message: &msg},
			}
			if tt.finished {
				out := bus.Outbound{ID: "r.1", Agent: "ana", Session: string(key), Run: "r", Kind: "reply", To: "ana", Text: "answered before", InReplyTo: "17", Final: true}
				events = append(events,
					run.Event{Type: run.Replied, At: time.Now(), Reply: &run.Reply{N: 1, Kind: "reply", Final: true, ID: "r.1", Subject: "plugin.outbound.chat." + tt.logged, Envelope: encode(t, out)}},
					run.Event{Type: run.Finished, At: time.Now(), Run: "r", Outcome: run.OutcomeSettled})
			}
			w.publish("agent.session.ana."+session.SID("ana", key), map[string]any{"v": 1, "key": key, "run": "r", "events": events})
			close(model)
			w.start(inChat(bot("ana", func(a *actor) { a.model = model })))
			for _, text := range tt.want {
				if out := w.expect("reply", text); out.InReplyTo != "17" {
					t.Errorf("heard %+v, want an answer to 17", out)
				}
			}
			w.settled()
			w.silent()
		})
	}
}
