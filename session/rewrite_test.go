package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// same leaves every event as it is, and has it written again.
func same() session.Edit {
	return session.Edit{
		Event: func(_ string, event json.RawMessage) (json.RawMessage, error) { return event, nil },
		Ends:  func(run.Run) bool { return false },
	}
}

// instead puts one text in the place of another.
func instead(old, now string) func() session.Edit {
	return func() session.Edit {
		edit := same()
		edit.Event = func(_ string, event json.RawMessage) (json.RawMessage, error) {
			if !bytes.Contains(event, []byte(old)) {
				return nil, nil
			}
			return bytes.ReplaceAll(event, []byte(old), []byte(now)), nil
		}
		return edit
	}
}

// busy is a session in which much has happened, and which may be at work.
func busy(t *testing.T, s *session.Store, seed uint64) *talk {
	t.Helper()
	c := openKey(t, s, session.DM("web", "", fmt.Sprint("person", seed)))
	lim := run.Limits{ModelCalls: 6, Tools: 2, Keep: 2, Window: 300 * int(seed%2), Safe: func(tool string) bool { return tool == "b" }}
	r := rand.New(rand.NewPCG(seed, 11))
	for n := range 200 {
		c.sendWithin(anySignal(r, c.State(), n), lim)
	}
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// However a session went, its log reads the same once it is one commit, and its owner is
// refused.
func TestRewriteKeepsTheFold(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	for seed := range uint64(busyLogs) {
		c := busy(t, s, seed)
		sid := session.SID("bot", c.Key())
		before := openKey(t, s, c.Key()).State()
		var facts []session.Fact
		for f, err := range a.History(t.Context(), "bot", sid, 1) {
			if err != nil {
				t.Fatal(err)
			}
			facts = append(facts, f)
		}
		if r, err := a.Rewrite(t.Context(), "bot", sid, same); err != nil || r.Events != len(facts) || r.Key != c.Key() {
			t.Fatalf("session %d: got %+v, %v, want %d events", seed, r, err, len(facts))
		}
		again := openKey(t, s, c.Key())
		if diff := cmp.Diff(encode(t, before), encode(t, again.State())); diff != "" {
			t.Errorf("session %d: the state: %s", seed, diff)
		}
		n := 0
		for f, err := range a.History(t.Context(), "bot", sid, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Of != facts[n].Of || f.Event.Type != facts[n].Event.Type {
				t.Errorf("session %d, event %d: got %s of %q, want %s of %q", seed, n, f.Event.Type, f.Of, facts[n].Event.Type, facts[n].Of)
			}
			n++
		}
		if v, err := a.Verify(t.Context(), "bot", sid); err != nil || len(v.Defects) > 0 || v.Commits != 1 {
			t.Errorf("session %d: got %+v, %v, want one commit without defects", seed, v, err)
		}
		if err := c.add(waiting("late")); !errors.Is(err, session.ErrFenced) {
			t.Errorf("session %d: the owner: got %v, want %v", seed, err, session.ErrFenced)
		}
		if err := again.add(waiting("next")); err != nil {
			t.Errorf("session %d: the next owner: %v", seed, err)
		}
	}
}

// What was there before is gone, with the snapshot, and an id is known as it was.
func TestRewriteReplaces(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	c := openTalk(t, s)
	for range 70 {
		c.turn()
	}
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sid := session.SID("bot", ana)
	old := c.State().Messages[0].Text()
	r, err := a.Rewrite(t.Context(), "bot", sid, instead(old, "nothing"))
	if err != nil || r.Events == 0 || r.Snapshots != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	for _, subject := range []string{logSubject(), snapshotSubject()} {
		for rec, err := range s.Reader.Tail(t.Context(), "AGENT_SESSIONS", subject, 1) {
			if err != nil || bytes.Contains(rec.Data, []byte(`"`+old+`"`)) {
				t.Errorf("%d: %v: it is still there: %.300s", rec.Seq, err, rec.Data)
			}
		}
	}
	again := openTalk(t, s)
	if got := again.State().Messages[0].Text(); got != "nothing" {
		t.Errorf("got %q", got)
	}
	if seq, ok := again.Seen("in-r1"); !ok || seq == 0 {
		t.Errorf("the first message: got %d, %v, want that it is answered", seq, ok)
	}
	if r, err := a.Rewrite(t.Context(), "bot", sid, instead(old, "nothing")); err != nil || r.Events != 0 {
		t.Errorf("a second time: got %+v, %v, want no events", r, err)
	}
	if _, err := a.Rewrite(t.Context(), "bot", session.SID("bot", "web/dm/no"), same); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("of none: got %v", err)
	}
}

// One that is cut off once the new commit is there leaves what was before beside it. Readers
// begin with the new one.
func TestRewriteThatIsCutOff(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	c := openTalk(t, s)
	for range 70 {
		c.turn()
	}
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := sessions(t, b).CachedInfo().Config
	cfg.DenyDelete = true
	if _, err := b.JS.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	sid := session.SID("bot", ana)
	old := c.State().Messages[0].Text()
	_, err := a.Rewrite(t.Context(), "bot", sid, instead(old, "nothing"))
	wantError(t, err, "rewrite session "+sid, "overwrite message")
	again := openTalk(t, s)
	if got := again.State(); len(got.Messages) != len(c.State().Messages) || got.Messages[0].Text() != "nothing" {
		t.Errorf("got %d messages, the first %q, want %d, the first of them changed", len(got.Messages), got.Messages[0].Text(), len(c.State().Messages))
	}
	if v, err := a.Verify(t.Context(), "bot", sid); err != nil || len(v.Defects) > 0 {
		t.Errorf("got %+v, %v, want no defects", v, err)
	}
	again.turn()
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	openTalk(t, s).turn()
}

// A run that is there for nobody any more is stopped, and nothing waits in the session.
func TestRewriteEndsARun(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	c := openTalk(t, s)
	c.send(ask("m1", "secret"))
	c.send(use("a"))
	c.send(suspend("a"))
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sid := session.SID("bot", ana)
	put(t, b, "$KV.AGENT_WAITING.bot."+sid+".x", "{}")
	edit := func() session.Edit {
		e := instead("secret", "[erased]")()
		e.Ends = func(r run.Run) bool { return len(r.Inputs) == 1 }
		return e
	}
	r, err := a.Rewrite(t.Context(), "bot", sid, edit)
	if err != nil || !r.Stopped {
		t.Fatalf("got %+v, %v", r, err)
	}
	again := openTalk(t, s)
	if got := again.State(); got.Run != nil || strings.Contains(encode(t, got), "secret") {
		t.Errorf("got %s", encode(t, got))
	}
	if _, err := s.Reader.Entry(t.Context(), "AGENT_WAITING", "bot."+sid+".x"); err == nil {
		t.Error("something waits in it")
	}
	again.turn()
}

func TestErase(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	c := openTalk(t, s)
	for range 70 {
		c.turn()
	}
	if err := s.Publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sid := session.SID("bot", ana)
	d, err := a.Erase(t.Context(), "bot", sid)
	if err != nil || d.Commits != 70 || d.Key != ana {
		t.Errorf("got %+v, %v", d, err)
	}
	if n := sessions(t, b).CachedInfo().State.Msgs; n != 0 {
		t.Errorf("%d messages are left", n)
	}
	if err := c.add(waiting("late")); !errors.Is(err, session.ErrFenced) {
		t.Errorf("the owner: got %v, want %v", err, session.ErrFenced)
	}
	if _, err := a.Erase(t.Context(), "bot", sid); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("again: got %v, want %v", err, session.ErrNoSession)
	}
	put(t, b, snapshotSubject(), "{}") // an owner has written it too late
	if _, err := a.Erase(t.Context(), "bot", sid); err != nil {
		t.Errorf("a snapshot alone: %v", err)
	}
	openTalk(t, s).turn()
}

// What is committed while it works is not lost: it begins again.
func TestRewriteIsFenced(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	c.turn()
	times := 0
	r, err := archive(b).Rewrite(t.Context(), "bot", session.SID("bot", ana), func() session.Edit {
		edit := instead("hello", "bye")()
		replace := edit.Event
		edit.Event = func(of string, event json.RawMessage) (json.RawMessage, error) {
			if times++; times == 1 {
				c.turn()
			}
			return replace(of, event)
		}
		return edit
	})
	if err != nil || r.Events == 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if got := openTalk(t, s).State(); len(got.Messages) != 4 || strings.Contains(encode(t, got), "hello") {
		t.Errorf("got %s, want four messages without hello", encode(t, got))
	}
}
