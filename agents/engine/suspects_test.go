package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/gate"
	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// suspect is an agent whose model hangs when it is told to, and otherwise echoes.
func suspect(id string) actor {
	return actor{
		cfg: agents.Config{
			ID: id, Channels: []agents.Binding{{Channel: id}}, Limits: agents.Limits{Concurrency: 2},
		},
		script: `rules: [{when: hang, delay: 1h, text: late}, {text: "${text}"}]`,
	}
}

// leftOver puts a run into the log of a session that has ended its host so often.
func (w *world) leftOver(agent, from, text string, failures int) {
	w.t.Helper()
	key := session.DM(agent, "", from)
	in := run.Input{ID: "left-" + from, Subject: "plugin.inbound." + agent, Seq: 1, Envelope: encode(w.t, bus.Inbound{From: from, Text: text})}
	msg := llm.UserText(text)
	w.publish("agent.session."+agent+"."+session.SID(agent, key), map[string]any{
		"v": 1, "key": key, "run": "run-" + from, "events": []run.Event{
			{Type: run.Started, At: time.Now(), Run: "run-" + from, Trigger: run.ByMessage, Inputs: []run.Input{in}, Attempt: failures},
			{Type: run.MessageAdded, At: time.Now(), Message: &msg},
		},
	})
}

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wake sends a session another message, so that its log is opened.
func (w *world) wake(agent, from string) {
	w.t.Helper()
	w.say(agent, bus.Inbound{ID: "wake-" + from, From: from, Text: "and then"})
}

// awaitTry waits until the next try of a run that was left over is in its log.
func (w *world) awaitTry(agent, from string) {
	w.t.Helper()
	subject := "agent.session." + agent + "." + session.SID(agent, session.DM(agent, "", from))
	waittest.Until(w.t, "another try", func() bool {
		stream, err := w.bus.JS.Stream(w.t.Context(), bus.SessionsStream)
		if err != nil {
			return false
		}
		info, err := stream.Info(w.t.Context(), jetstream.WithSubjectFilter(subject))
		return err == nil && info.State.Subjects[subject] > 1
	})
}

// status is that of an agent of the host.
func (w *world) status(agent string) agents.Status { return w.fleet.Runtime(agent).Status() }

// Of the runs that may have ended their host one at a time is tried. One that hangs
// holds up the suspects of its agent, but neither other messages of that agent, for
// which there is a slot, nor suspects of another.
func TestSuspectsWaitOnlyForSuspectsOfTheirAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"), suspect("bob"))
	w.leftOver("ana", "u1", "hang", 2)
	w.leftOver("ana", "u2", "the second", 2)
	w.leftOver("bob", "u3", "of another agent", 3)
	w.wake("ana", "u1")
	w.awaitTry("ana", "u1")
	w.wake("ana", "u2")
	waittest.Until(t, "the second waits, in no slot", func() bool { s := w.status("ana"); return s.Suspects == 1 && s.Running == 1 })
	w.wake("bob", "u3")
	w.expect("reply", "of another agent")
	w.expect("reply", "and then")
	w.say("ana", bus.Inbound{From: "u4", Text: "not suspected"})
	w.expect("reply", "not suspected")
	w.say("ana", bus.Inbound{From: "u1", Text: "/stop"})
	heard := map[string]bool{}
	for range 4 { // the end of the first, the second, and what came behind both
		heard[w.hear().Text] = true
	}
	if !heard["the second"] || w.status("ana").Suspects != 0 {
		t.Errorf("the second was not tried after the first: heard %v", heard)
	}
}

// The last try before a message is given up is made alone in the host: no message of
// another agent may be given up for what this one does.
func TestLastTriesOfAllAgentsWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"), suspect("bob"))
	w.leftOver("ana", "u1", "hang", 4)
	w.leftOver("bob", "u2", "the second", 4)
	w.wake("ana", "u1")
	w.awaitTry("ana", "u1")
	w.wake("bob", "u2")
	waittest.Until(t, "the second waits", func() bool { s := w.status("bob"); return s.Suspects == 1 && s.Running == 0 })
	w.say("ana", bus.Inbound{From: "u1", Text: "/stop"})
	heard := map[string]bool{}
	for range 4 {
		heard[w.hear().Text] = true
	}
	if !heard["the second"] {
		t.Errorf("the second was not tried after the first: heard %v", heard)
	}
}

// A suspect whose run another host has ended, while it waited for its turn, gives the turn up.
func TestSuspectThatHasEndedElsewhereLetsOthersTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"))
	w.leftOver("ana", "u1", "hang", 2)
	w.leftOver("ana", "u2", "ended elsewhere", 2)
	w.leftOver("ana", "u3", "the third", 2)
	w.wake("ana", "u1")
	w.awaitTry("ana", "u1")
	for n, from := range []string{"u2", "u3"} {
		w.wake("ana", from)
		waittest.Until(t, "it waits for its turn", func() bool { return w.status("ana").Suspects == n+1 })
	}
	key := session.DM("ana", "", "u2")
	w.publish("agent.session.ana."+session.SID("ana", key), map[string]any{
		"v": 1, "key": key, "run": "run-u2", "events": []run.Event{{Type: run.Finished, At: time.Now(), Run: "run-u2", Outcome: run.OutcomeSettled}},
	})
	w.fleet.Runtime("ana").Reread()
	began := time.Now()
	w.say("ana", bus.Inbound{From: "u1", Text: "/stop"})
	for w.hear().Text != "the third" {
	}
	if waited := time.Since(began); waited >= gate.AloneFor {
		t.Errorf("the third had to wait for %s, as long as a suspect that is at work", waited)
	}
}

// A host that stops does not wait for the turn of its suspects.
func TestStopLeavesWaitingSuspects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"))
	w.leftOver("ana", "u1", "hang", 2)
	w.leftOver("ana", "u2", "the second", 2)
	w.wake("ana", "u1")
	w.awaitTry("ana", "u1")
	w.wake("ana", "u2")
	waittest.Until(t, "the second waits", func() bool { return w.status("ana").Suspects == 1 })
	w.stop()
	w.silent()
}
