package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

func TestLogReplaysToTheLiveState(t *testing.T) {
	t.Parallel()
	summary := run.Event{Type: run.Compacted, At: epoch, Through: 1, Summary: "they met"}
	tests := map[string]func(c *talk){
		"nothing":        func(*talk) {},
		"a plain answer": func(c *talk) { c.turn() },
		"many turns": func(c *talk) {
			for range 10 {
				c.turn()
			}
		},
		"tools": func(c *talk) {
			c.send(ask("r1", "go"))
			c.send(use("a", "b"))
			c.same()
			c.send(done("b"))
			c.send(done("a"))
			c.send(say("done"))
		},
		"waiting for somebody": func(c *talk) {
			c.send(ask("r1", "go"))
			c.send(use("a"))
			c.send(suspend("a"))
		},
		"answered": func(c *talk) {
			c.send(ask("r1", "go"))
			c.send(use("a"))
			c.send(suspend("a"))
			c.send(answer("a", "blue"))
			c.send(say("blue it is"))
		},
		"a joined run": func(c *talk) {
			c.send(attempt("r1", 1))
			c.send(join("r2", "and"))
			c.send(use("a"))
			c.send(done("a"))
			c.send(say("done"))
		},
		"an attempt counted": func(c *talk) { c.send(attempt("r1", 3)) },
		"a failed run": func(c *talk) {
			c.send(ask("r1", "go"))
			c.send(run.Signal{Kind: run.Fault, Error: &run.Error{Code: "internal"}})
		},
		"a stopped run": func(c *talk) {
			c.send(ask("r1", "go"))
			c.send(run.Signal{Kind: run.Abort, By: "ana"})
		},
		"inputs that wait": func(c *talk) {
			if err := c.add(waiting("m1"), waiting("m2")); err != nil {
				c.t.Error(err)
			}
		},
		"compaction": func(c *talk) {
			c.turn()
			c.turn()
			if err := c.add(summary); err != nil {
				c.t.Error(err)
			}
			c.turn()
		},
	}
	for name, tell := range tests {
		t.Run(name, func(t *testing.T) {
			_, s := open(t)
			c := openTalk(t, s)
			tell(c)
			c.same()
			if c.Key() != ana {
				t.Errorf("key: got %s, want %s", c.Key(), ana)
			}
		})
	}
}

// A host that finds an unfinished run takes it up where the log left it.
func TestLogResumes(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	c.send(ask("r1", "go"))
	c.send(use("a"))
	again := c.reopen()
	var kinds []run.EffectKind
	for _, e := range again.Resume(c.at.Add(time.Second), run.Limits{}) {
		kinds = append(kinds, e.Kind)
		if e.Kind == run.Commit {
			if err := again.commit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []run.EffectKind{run.Commit, run.InvokeModel}; !slices.Equal(kinds, want) {
		t.Errorf("effects: got %v, want %v", kinds, want)
	}
	again.send(say("done"))
	again.same()
}

func TestLogFences(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"a new session": 0, "a session with a past": 3} {
		t.Run(name, func(t *testing.T) {
			_, s := open(t)
			c := openTalk(t, s)
			for range before {
				c.turn()
			}
			stale := c.reopen()
			c.turn()
			for i := range 3 {
				if err := stale.add(waiting(fmt.Sprint("m", i))); !errors.Is(err, session.ErrFenced) {
					t.Errorf("commit %d of the stale log: got %v, want %v", i, err, session.ErrFenced)
				}
			}
			if _, ok := stale.Seen("m0"); ok {
				t.Error("the stale log remembers what was refused")
			}
			c.turn()
			c.same()
		})
	}
}

func TestCommitsAreWrittenInOrder(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	s.Limit = 2000 // some go by the object store
	c := openTalk(t, s)
	const many = 100
	stored := make(chan int, many)
	for i := range many {
		e := waiting(fmt.Sprint("m", i))
		if i%10 == 3 {
			e.Input.Envelope = json.RawMessage(`{"text":"` + strings.Repeat("x", 5000) + `"}`)
		}
		c.Add(context.Background(), []run.Event{e}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			stored <- i
		})
	}
	for want := range many {
		if got := <-stored; got != want {
			t.Fatalf("stored: got commit %d, want %d", got, want)
		}
	}
	c.same()
}

// What is queued behind a commit that is refused is refused with it.
func TestQueuedCommitsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	stale := c.reopen()
	c.turn()
	refused := make(chan error, 20)
	for i := range cap(refused) {
		stale.Add(context.Background(), []run.Event{waiting(fmt.Sprint("m", i))}, func(err error) { refused <- err })
	}
	for range cap(refused) {
		if err := <-refused; !errors.Is(err, session.ErrFenced) {
			t.Errorf("got %v, want %v", err, session.ErrFenced)
		}
	}
}

func TestCommitFails(t *testing.T) {
	t.Parallel()
	t.Run("beyond every limit", func(t *testing.T) {
		_, s := open(t)
		s.Limit = 10 << 20
		e := waiting("m1")
		e.Input.Envelope = json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
		c := openTalk(t, s)
		wantError(t, c.add(e), "commit: ", "maximum payload")
		wantError(t, c.add(waiting("m2")), "commit: ", "maximum payload")
	})
	t.Run("not to be encoded", func(t *testing.T) {
		_, s := open(t)
		e := waiting("m1")
		e.Input.Envelope = json.RawMessage("{")
		wantError(t, openTalk(t, s).add(e), "encode commit: ")
	})
	t.Run("large, and no object store", func(t *testing.T) {
		b, s := open(t)
		s.Limit = 100
		if err := b.JS.DeleteObjectStore(t.Context(), bus.FilesBucket); err != nil {
			t.Fatal(err)
		}
		wantError(t, openTalk(t, s).add(waiting(strings.Repeat("m", 200))), "commit: store file: ")
	})
}

func wantError(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that says %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error: got %q, want it to say %q", err, w)
		}
	}
}

func TestLogRemembersIDs(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	want := func(c *talk, id string, seq uint64, ok bool) {
		t.Helper()
		if gotSeq, gotOK := c.Seen(id); gotSeq != seq || gotOK != ok {
			t.Errorf("%s: got %d, %t, want %d, %t", id, gotSeq, gotOK, seq, ok)
		}
	}
	want(c, "in-r1", 0, false)
	c.send(attempt("r1", 1))       // commit 1
	want(c, "in-r1", 0, true)      // in the log, with no reply yet
	c.send(join("r2", "and"))      // 2
	c.send(ask("r3", "and later")) // 3
	for _, c := range []*talk{c, c.reopen()} {
		want(c, "in-r1", 0, true)
		want(c, "in-r2", 0, true)
		want(c, "in-r3", 0, true)
	}
	c.send(say("both")) // 4: what joined after this answer began needs another
	c.send(say("done")) // 5
	last := c.Replied()
	for _, c := range []*talk{c, c.reopen()} {
		want(c, "in-r1", last, true)
		want(c, "in-r2", last, true)
		want(c, "in-r3", 0, true)
		want(c, "in-r4", 0, false)
		if c.Replied() != last || last == 0 {
			t.Errorf("Replied: got %d, want %d", c.Replied(), last)
		}
	}
}

// An answer counts once, as what it answers does.
func TestLogRemembersAnswers(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	c.send(ask("r1", "hello"))
	c.send(run.Signal{Kind: run.Abort, By: "ana", Input: &run.Input{ID: "stop"}})
	for _, c := range []*talk{c, c.reopen()} {
		if seq, ok := c.Seen("stop"); !ok || seq != c.Replied() {
			t.Errorf("got %d, %t, want %d", seq, ok, c.Replied())
		}
	}
}

func TestRepliedSince(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	for range 4 {
		c.turn()
	}
	if err := c.add(waiting("m")); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[uint64][]uint64{1: {1, 2, 3, 4}, 3: {3, 4}, 4: {4}, 5: {4}, 99: {4}} {
		if diff := cmp.Diff(want, c.RepliedSince(from)); diff != "" {
			t.Errorf("from %d: %s", from, diff)
		}
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	c.turn()
	before := time.Now()
	said, err := s.Said(t.Context(), c.Replied())
	replies := said.Replies
	if err != nil || len(replies) != 1 || string(replies[0].Envelope) != `{"text":"hello"}` || !replies[0].Final || len(said.Inputs) != 1 {
		t.Errorf("got %+v, %v, want the reply, to one input", said, err)
	}
	if age := before.Sub(said.At); age < 0 || age > time.Minute {
		t.Errorf("made at %s, want just before %s", said.At, before)
	}
	put(t, b, logSubject(), `{"v":1,"events":[{"type":"reply"},{"type":"input.added"}]}`)
	if said, err := s.Said(t.Context(), 2); err != nil || len(said.Replies) != 0 {
		t.Errorf("a reply without one: got %+v, %v, want none", said, err)
	}
	c.reopen() // nor does it harm the log
	put(t, b, logSubject(), "{")
	_, err = s.Said(t.Context(), 3)
	wantError(t, err, "read commit 3: ")
	_, err = s.Said(t.Context(), 99)
	if wantError(t, err, "read commit 99: "); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("got %v, want %v", err, records.ErrNotFound)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	sid := session.SID("bot", ana)
	missing := strings.Repeat("0", 64)
	tests := map[string]struct {
		log, want string
	}{
		"a commit of another form": {`{"v":2,"events":{}}`, "it is of version 2; this program reads 1: update it"},
		"a commit of tomorrow":     {`{"v":2}`, "it is of version 2; this program reads 1: update it"},
		"a commit in part":         {`{"v":1,"key":"web/dm/ana","events":{}}`, "cannot unmarshal object"},
		"a commit without its file": {
			`{"v":1,"object":"` + missing + `"}`, "read file " + missing,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := open(t)
			openTalk(t, s).turn()
			put(t, b, logSubject(), tt.log)
			_, err := s.Open(t.Context(), "bot", ana)
			wantError(t, err, "open session "+sid+": commit 2: ", tt.want)
		})
	}
}

// What others have put where a log or a snapshot is harms no session.
func TestOpenPassesOver(t *testing.T) {
	t.Parallel()
	missing := strings.Repeat("0", 64)
	tests := map[string]struct{ log, snapshot string }{
		"half a commit":               {log: `{"v":1,`},
		"no commit":                   {log: "hello"},
		"nothing":                     {log: ""},
		"a commit of another kind":    {log: `{"v":"x"}`},
		"a corrupt snapshot":          {snapshot: `{"v":1`},
		"a snapshot of tomorrow":      {snapshot: `{"v":7,"object":"x"}`},
		"a snapshot without its file": {snapshot: `{"v":1,"seq":1,"object":"` + missing + `"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := open(t)
			c := openTalk(t, s)
			c.turn()
			if tt.snapshot == "" {
				put(t, b, logSubject(), tt.log)
			} else {
				put(t, b, snapshotSubject(), tt.snapshot)
			}
			c = c.reopen()
			c.turn()
			c = c.reopen()
			if n := len(c.State().Messages); n != 4 {
				t.Errorf("%d messages, want those of two turns", n)
			}
			a := session.NewArchive(b.JS)
			if state, sum, err := a.State(t.Context(), "bot", session.SID("bot", ana)); err != nil || sum.Key != ana || len(state.Messages) != 4 {
				t.Errorf("the archive has %+v, %v", sum, err)
			}
			put(t, b, logSubject(), "{")
			if key, err := s.KeyOf(t.Context(), "bot", session.SID("bot", ana)); err != nil || key != ana {
				t.Errorf("key %q, %v", key, err)
			}
			if _, err := a.Delete(t.Context(), "bot", session.SID("bot", ana), false); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenRefusesABrokenFile(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	name, err := s.Files.Put(t.Context(), []byte("{"))
	if err != nil {
		t.Fatal(err)
	}
	openTalk(t, s).turn()
	put(t, b, logSubject(), `{"v":1,"object":"`+name+`"}`)
	_, err = s.Open(t.Context(), "bot", ana)
	wantError(t, err, "commit 2: ", "unexpected end")
	put(t, b, snapshotSubject(), `{"v":1,"seq":2,"object":"`+name+`"}`)
	_, err = s.Open(t.Context(), "bot", ana) // the snapshot is not needed
	wantError(t, err, "commit 2: ", "unexpected end")
}

func TestOpenWithoutNATS(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	b.Close()
	_, err := s.Open(context.Background(), "bot", ana)
	wantError(t, err, "open session "+session.SID("bot", ana)+": read stored message: ")
}

// The log is what other programs read: its form is part of the contract.
func TestCommitOnTheWire(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	if err := c.add(waiting("m1")); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Reader.Last(t.Context(), bus.SessionsStream, "agent.session.bot."+session.SID("bot", ana))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"key":"web/dm/ana","events":[{"type":"input.added","at":"2026-01-02T03:04:05Z",` +
		`"input":{"id":"m1","subject":"plugin.inbound.web","seq":0,"envelope":{"text": "x"}}}]}`
	if string(rec.Data) != want {
		t.Errorf("got  %s\nwant %s", rec.Data, want)
	}
	if rec.Header.Get(jetstream.ExpectedLastSubjSeqHeader) != "0" || rec.Header.Get("Agent-Commit") == "" {
		t.Errorf("headers: got %v, want the fence and the commit's name", rec.Header)
	}
	if n := sessions(t, b).CachedInfo().State.Msgs; n != 1 {
		t.Errorf("messages: got %d, want 1", n)
	}
}

// A commit that waits behind one that could not be stored is refused as that one is: the
// log has no gap, even where the server would take the later one.
func TestCommitsBehindAFailedOneAreRefused(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	s.Limit = 1000
	c := openTalk(t, s)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	large := waiting("large")
	large.Input.Envelope = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)
	first, failed, behind := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	c.Add(t.Context(), []run.Event{waiting("first")}, func(err error) { first <- err })
	c.Add(ended, []run.Event{large}, func(err error) { failed <- err }) // its file cannot be stored
	c.Add(t.Context(), []run.Event{waiting("behind")}, func(err error) { behind <- err })
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	wantError(t, <-failed, "commit: store file: ")
	wantError(t, <-behind, "commit: store file: ")
	again := c.reopen()
	if _, ok := again.Seen("behind"); ok {
		t.Error("the log has what came behind the commit that failed")
	}
}

// A run that answers what came while it was at work has replies in several commits.
func TestRepliedWith(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.turn()                  // 1
	c.send(attempt("r1", 1))  // 2
	c.send(join("r2", "and")) // 3
	c.send(say("first"))      // 4
	for _, c := range []*talk{c, c.reopen()} {
		if diff := cmp.Diff([]uint64{4}, c.RepliedSince(99)); diff != "" {
			t.Errorf("while it runs: %s", diff)
		}
	}
	c.send(say("second")) // 5
	last := c.Replied()
	c.turn()
	for _, c := range []*talk{c, c.reopen()} {
		if diff := cmp.Diff([]uint64{4, last}, c.RepliedWith(last)); diff != "" {
			t.Errorf("with %d: %s", last, diff)
		}
		if diff := cmp.Diff([]uint64{1}, c.RepliedWith(1)); diff != "" {
			t.Errorf("with 1: %s", diff)
		}
		if diff := cmp.Diff([]uint64{4, last, last + 1}, c.RepliedSince(last)); diff != "" {
			t.Errorf("since %d: %s", last, diff)
		}
		if diff := cmp.Diff([]uint64{4, last}, c.RepliedBefore(last+1)); diff != "" {
			t.Errorf("before %d: %s", last+1, diff)
		}
		if diff := cmp.Diff([]uint64{4}, c.RepliedBefore(last)); diff != "" {
			t.Errorf("before %d: %s", last, diff)
		}
	}
	for range 70 { // a snapshot is due
		c.turn()
	}
	d.next()
	if diff := cmp.Diff([]uint64{4, last}, c.reopen().RepliedWith(last)); diff != "" {
		t.Errorf("from a snapshot: %s", diff)
	}
}
