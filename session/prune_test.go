package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// Sessions that are old go whole, with what only they have named; those that are
// young, at work, waiting or busy stay, and so do those of other agents.
func TestPrune(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	s.Limit = 300 // every commit is too large for a message
	a := archive(b)
	key := func(name string) session.Key { return session.DM("web", "", name) }
	old := openKey(t, s, key("old"))
	for range 70 { // with a snapshot
		old.turn()
	}
	openKey(t, s, key("older")).turn()
	openKey(t, s, key("busy")).turn()
	working := openKey(t, s, key("working"))
	working.send(ask("r1", "go"))
	working.send(use("a"))
	suspended := openKey(t, s, key("suspended"))
	suspended.send(ask("r1", "go"))
	suspended.send(use("a"))
	suspended.send(suspend("a"))
	queued := openKey(t, s, key("queued"))
	queued.turn()
	if err := queued.add(waiting("w1")); err != nil {
		t.Fatal(err)
	}
	put(t, b, session.Subject("other", session.SID("other", key("old"))), `{"v":1,"key":"web/dm/old","events":[]}`)
	shared := give(t, b, key("bo"))
	put(t, b, session.Subject("bot", session.SID("bot", key("older"))), fmt.Sprintf(
		`{"v":1,"key":"web/dm/older","events":[{"type":"message","message":{"role":"user","parts":[{"type":"media","media":{"object":%q}}]}}]}`, shared))
	last, err := s.Reader.Last(t.Context(), bus.SessionsStream, session.Subject("bot", session.SID("bot", key("older"))))
	if err != nil {
		t.Fatal(err)
	}
	cutoff := last.Time.Add(time.Nanosecond)
	openKey(t, s, key("young")).turn()

	var gone []string
	prune := func(before time.Time) session.Pruning {
		t.Helper()
		p, err := a.Prune(t.Context(), "bot", before, func(k session.Key) bool { return k == key("busy") }, func(k session.Key) { gone = append(gone, string(k)) })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := prune(epoch); p != (session.Pruning{}) {
		t.Errorf("before all: got %+v", p)
	}
	p := prune(cutoff)
	slices.Sort(gone)
	if diff := cmp.Diff([]string{"web/dm/bo", "web/dm/old", "web/dm/older"}, gone); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if p.Sessions != 3 || p.Commits < 70 || p.Objects < 70 {
		t.Errorf("got %+v", p)
	}
	list, err := a.List(t.Context(), session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, one := range list.Sessions {
		left = append(left, one.Agent+" "+string(one.Key))
	}
	slices.Sort(left)
	want := []string{"bot web/dm/busy", "bot web/dm/queued", "bot web/dm/suspended", "bot web/dm/working", "bot web/dm/young", "other web/dm/old"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("sessions left (-want +got):\n%s", diff)
	}
	if _, err := filestore.New(b.JS).Get(t.Context(), shared); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("the file of sessions that are gone: got %v", err)
	}
	for _, left := range []*talk{working, suspended} {
		if got := openKey(t, s, left.Key()).encoded(); got != left.encoded() {
			t.Errorf("got %s, want %s", got, left.encoded())
		}
	}
}

// A file that a session names which stays, stays with it.
func TestPruneLeavesFilesOfOthers(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	shared := give(t, b, session.DM("web", "", "bo"))
	rec, err := s.Reader.Last(t.Context(), bus.SessionsStream, session.Subject("bot", session.SID("bot", session.DM("web", "", "bo"))))
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, session.Subject("eve", session.SID("eve", ana)), string(rec.Data))
	p, err := archive(b).Prune(t.Context(), "bot", time.Now().Add(time.Hour), func(session.Key) bool { return false }, func(session.Key) {})
	if err != nil || p != (session.Pruning{Sessions: 1, Commits: 1}) {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := filestore.New(b.JS).Get(t.Context(), shared); err != nil {
		t.Errorf("the file that another session names: %v", err)
	}
}
