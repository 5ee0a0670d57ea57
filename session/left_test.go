package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A message that is still to be read keeps its attachment, though a session that named
// it as well is deleted. Once the message is gone, the attachment goes.
func TestDeletedSessionsLeaveFilesOfMessages(t *testing.T) {
	message := func(name string) string { return `{"text":"look","media":[{"kind":"image","object":"` + name + `"}]}` }
	letter := func(name string) string {
		l := bus.DeadLetter{Agent: "bot", Stream: bus.InboundStream, Seq: 1}
		l.SetPayload([]byte(message(name)), 10_000)
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	whole := func(name string) string { return `{"text":"… [cut off: the whole is kept as object ` + name + `]"}` }
	places := map[string]struct {
		stream, subject string
		data            func(string) string
	}{
		"inbound":     {bus.InboundStream, "plugin.inbound.web", message},
		"outbound":    {bus.OutboundStream, "plugin.outbound.web", message},
		"route":       {bus.RoutesStream, "agent.route.bot", message},
		"result":      {bus.RoutesStream, "agent.route.bot", whole},
		"partition":   {bus.RoutesStream, "agent.part.bot.3", message},
		"schedule":    {bus.SchedulesStream, "agent.due.bot", message},
		"dead letter": {bus.DeadStream, "agent.dead.bot", letter},
	}
	ways := map[string]func(context.Context, *session.Archive) (objects int, err error){
		"delete": func(ctx context.Context, a *session.Archive) (int, error) {
			d, err := a.Delete(ctx, "bot", session.SID("bot", session.DM("web", "", "bo")), false)
			return d.Objects, err
		},
		"prune": func(ctx context.Context, a *session.Archive) (int, error) {
			p, err := a.Prune(ctx, "bot", time.Now().Add(time.Hour), func(session.Key) bool { return false }, func(session.Key) {})
			return p.Objects, err
		},
	}
	for place, at := range places {
		for way, remove := range ways {
			t.Run(place+" "+way, func(t *testing.T) {
				t.Parallel()
				b, _ := open(t)
				a, files := archive(b), filestore.New(b.JS)
				name := give(t, b, session.DM("web", "", "bo"))
				put(t, b, at.subject, at.data(name))
				if n, err := remove(t.Context(), a); n != 0 || err != nil {
					t.Errorf("delete the session: got %d objects, %v, want the one left that the message names", n, err)
				}
				for range 2 { // it stays while the message does, however long
					if n, err := a.DeleteLeft(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
						t.Errorf("while the message is there: got %d deleted, %v", n, err)
					}
					if data, err := files.Get(t.Context(), name); string(data) != "shared" {
						t.Fatalf("the file of the message: got %q, %v", data, err)
					}
				}
				s, err := b.JS.Stream(t.Context(), at.stream)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Purge(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n, err := a.DeleteLeft(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
					t.Errorf("of what was left an hour ago: got %d deleted, %v, want none", n, err)
				}
				if n, err := a.DeleteLeft(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
					t.Errorf("after the message: got %d deleted, %v, want 1", n, err)
				}
				if _, err := files.Get(t.Context(), name); !errors.Is(err, jetstream.ErrObjectNotFound) {
					t.Errorf("the file that nothing names: got %v, want %v", err, jetstream.ErrObjectNotFound)
				}
			})
		}
	}
}

// A file that was left, and that a session names again, goes with that session.
func TestLeftFileOfAnotherSession(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	a, bo := archive(b), session.SID("bot", session.DM("web", "", "bo"))
	name := give(t, b, session.DM("web", "", "bo"))
	put(t, b, "plugin.inbound.web", `{"media":[{"object":"`+name+`"}]}`)
	if _, err := a.Delete(t.Context(), "bot", bo, false); err != nil {
		t.Fatal(err)
	}
	put(t, b, session.Subject("bot", bo), `{"v":1,"key":"web/dm/bo","events":[{"type":"message","message":{"role":"user","parts":[{"type":"media","media":{"object":"`+name+`"}}]}}]}`)
	s, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := a.DeleteLeft(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("while a session names it: got %d deleted, %v", n, err)
	}
	if left, err := filestore.New(b.JS).Left(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("left: got %v, %v, want none", left, err)
	}
	if d, err := a.Delete(t.Context(), "bot", bo, false); d.Objects != 1 || err != nil {
		t.Errorf("got %d objects deleted with the session, %v, want 1", d.Objects, err)
	}
}
