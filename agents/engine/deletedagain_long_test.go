//go:build long

package engine_test

import (
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"
)

// delete deletes the session of a person, as operators do.
func (w *crashWorld) delete(person string) {
	w.t.Helper()
	sid := session.SID("ana", session.DM("ana", "", person))
	if _, err := session.NewArchive(w.js).Delete(w.t.Context(), "ana", sid, false); err != nil {
		w.t.Fatal(err)
	}
}

// prune deletes the sessions to which nothing was written for a minute, as their age would.
func (w *crashWorld) prune(string) {
	w.t.Helper()
	time.Sleep(2 * time.Minute)
	busy := func(session.Key) bool { return false }
	p, err := session.NewArchive(w.js).Prune(w.t.Context(), "ana", time.Now().Add(-time.Minute), busy, func(session.Key) {})
	if err != nil || p.Sessions != 1 {
		w.t.Fatalf("deleted %d sessions, %v", p.Sessions, err)
	}
}

// logged are the messages that the log of a person's session has.
func (w *crashWorld) logged(person string) (ids []string) {
	w.t.Helper()
	log := session.Subject("ana", session.SID("ana", session.DM("ana", "", person)))
	ids = []string{}
	store := session.Store{Reader: records.NewReader(w.js)}
	for c, err := range store.Commits(w.t.Context(), log) {
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range c.Events {
			for _, in := range e.Inputs {
				ids = append(ids, in.ID)
			}
		}
	}
	return ids
}

// What a session has answered that was deleted since is not worked on when it comes again, and
// does not bring the session back. What came after the deletion is.
func TestMessagesOfDeletedSessionsComeAgain(t *testing.T) {
	for name, remove := range map[string]func(*crashWorld, string){"deleted": (*crashWorld).delete, "too old": (*crashWorld).prune} {
		for _, goesOn := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", goes on"}[goesOn], func(t *testing.T) {
				eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
					slow := w.block()
					w.from("zoe", "m1", "m2")
					w.wantSpoken("at first", "m1 reply", "m2 reply")
					remove(w, "zoe")
					want := []string{"m4"}
					if goesOn {
						w.from("zoe", "m3")
						w.wantSpoken("after the deletion", "m3 reply")
						want = []string{"m3", "m4"}
					}
					end(w)
					time.Sleep(2 * bus.DedupeWindow) // without a host, whose ticks take real time
					w.begin()
					time.Sleep(time.Minute)
					w.wantSpoken("when all came again", slow...)
					w.from("zoe", "m4")
					w.wantSpoken("after that", "m4 reply")
					if got := w.logged("zoe"); !slices.Equal(got, want) {
						w.t.Errorf("the log has %q, want %q", got, want)
					}
					w.settled()
				}, patient)
			})
		}
	}
}

// What was written after a deletion is worked on by the next host, whether the one before had
// begun with it or there was none.
func TestMessagesBehindADeletion(t *testing.T) {
	eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
		slow := w.block()
		w.from("zoe", "m1")
		w.wantSpoken("at first", "m1 reply")
		w.delete("zoe")
		w.model.hold("m2")
		w.from("zoe", "m2") // of which the log has nothing yet
		w.wantSpoken("at work")
		end(w)
		w.from("zoe", "m3")
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("by the next host", append([]string{"m2 reply", "m3 reply"}, slow...)...)
		w.settled()
	}, patient)
}

// A message that is being answered when its session is deleted is answered all the same, as is what
// waits behind it.
func TestDeletionDuringAnAnswer(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.from("zoe", "m1")
		w.wantSpoken("at first", "m1 reply")
		w.model.hold("m2")
		w.from("zoe", "m2", "m3")
		w.wantSpoken("at work")
		w.delete("zoe")
		w.model.release("m2")
		w.wantSpoken("after the deletion", "m2 reply", "m3 reply")
		w.settled()
	}, patient)
}
