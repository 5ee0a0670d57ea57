package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// The lane of an agent's messages and that of its results may be served by two
// hosts. The one that gets the answer may have the session in memory as it was
// before the other went on with it: the question is in the log alone.
func TestAnswerToAQuestionOfAnotherHost(t *testing.T) {
	for name, opened := range map[string]bool{"nothing in memory": false, "an idle session in memory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var effects atomic.Int64
			w := newWorld(t, boss(&effects))
			if opened {
				w.say("ana", bus.Inbound{ID: "first", Text: "how are you"})
				w.expect("reply", "You said: how are you")
				w.settled()
			}
			w.suspend("bea")
			w.approve(w.otherHost().write(w.commitsOf("bea")), "")
			w.expect("reply", "It says: paid")
			w.settled()
			if n := effects.Load(); n != 1 {
				t.Errorf("the tool ran %d times, want once", n)
			}
		})
	}
}

// The same where this host knows of a question that the other one has had answered. What
// is on its way to the log meanwhile is not lost.
func TestAnswerToALaterQuestionOfAnotherHost(t *testing.T) {
	t.Parallel()
	var effects atomic.Int64
	w := newWorld(t, boss(&effects))
	first := w.suspend("bea")
	other, known := w.otherHost(), len(w.commitsOf("bea"))
	w.approve(first.Call, "")
	w.expect("reply", "It says: paid")
	w.suspend("bea")
	commits := w.commitsOf("bea")
	other.write(commits[:known])

	looked, release := make(chan struct{}, 2), make(chan struct{})
	w.hook(hooks.BeforeMessage, hooks.Options{Timeout: time.Minute}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
		looked <- struct{}{}
		<-release
		return hooks.Outcome{}, nil
	})
	w.say("ana", bus.Inbound{Text: "how are you"})
	<-looked // the session stays in memory: the message is still to be written behind the question
	if out := w.hear(); out.Kind != "notice" {
		t.Fatalf("heard %s %q, want a notice", out.Kind, out.Text)
	}
	w.approve(other.write(commits[known:]), "")
	close(release) // the fence refuses the message now: the other host may have died before it published any of what it has said
	for _, want := range []string{"approval", "reply", "approval", "reply"} {
		if out := w.hear(); out.Kind != want || want == "reply" && out.Text != "It says: paid" {
			t.Fatalf("heard %s %q, want %s: each question, and what came of it", out.Kind, out.Text, want)
		}
	}
	w.expect("reply", "You said: how are you")
	w.settled()
	w.silent()
	if n := effects.Load(); n != 2 {
		t.Errorf("the tool ran %d times, want once for each of two approvals", n)
	}
}

// The log is read for an answer once, when it comes to a session that is not in memory.
func TestAnswerReadsTheLogOnce(t *testing.T) {
	t.Parallel()
	var effects, opened atomic.Int64
	w := newWorld(t, boss(&effects))
	w.hook(hooks.OnSessionStart, hooks.Options{}, func(context.Context, hooks.Call) (hooks.Outcome, error) {
		opened.Add(1)
		return hooks.Outcome{}, nil
	})
	w.approve(w.suspend("ana").Call, "")
	w.expect("reply", "It says: paid")
	w.say("ana", bus.Inbound{Text: "how are you"})
	w.expect("reply", "You said: how are you")
	w.settled()
	if n := opened.Load(); n > 2 {
		t.Errorf("the log was opened %d times, want twice: for the message and for the answer", n)
	}
}

// suspend begins a run that waits for an approval.
func (w *world) suspend(from string) bus.Outbound {
	w.t.Helper()
	w.say("ana", bus.Inbound{From: from, Text: "pay"})
	asked := w.hear()
	w.settled()
	return asked
}

// commitsOf are those of a person's session with ana, as those of the person ana.
func (w *world) commitsOf(person string) (commits []session.Commit) {
	w.t.Helper()
	sid := session.SID("ana", session.DM("ana", "", person))
	for rec, err := range records.NewReader(w.bus.JS).Tail(w.t.Context(), bus.SessionsStream, session.Subject("ana", sid), 1) {
		c := session.Commit{}
		if err == nil {
			err = json.Unmarshal([]byte(strings.ReplaceAll(string(rec.Data), person, "ana")), &c)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		commits = append(commits, c)
	}
	return commits
}

// An otherHost writes to the session that the person ana has with the agent ana.
type otherHost struct {
	w   *world
	log *session.Log
}

func (w *world) otherHost() *otherHost {
	w.t.Helper()
	store := &session.Store{
		Publisher: w.parts.Publisher, Reader: records.NewReader(w.bus.JS), Files: filestore.New(w.bus.JS), Limit: 1 << 19, Log: zerolog.Nop(),
	}
	log, err := store.Open(w.t.Context(), "ana", session.DM("ana", "", "ana"))
	if err != nil {
		w.t.Fatal(err)
	}
	return &otherHost{w, log}
}

// write writes commits, and returns the id of what they ask for last.
func (o *otherHost) write(commits []session.Commit) (id string) {
	o.w.t.Helper()
	stored := make(chan error, 1)
	for _, c := range commits {
		for i := range c.Events {
			if c.Events[i].Type == run.ApprovalAsked {
				id = "ana." + session.SID("ana", session.DM("ana", "", "ana")) + "." + c.Events[i].Wait
			}
		}
		o.log.Commit(o.w.t.Context(), c.Run, c.Events, func(err error) { stored <- err })
		if err := <-stored; err != nil {
			o.w.t.Fatal(err)
		}
	}
	return id
}
