//go:build long

package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/bus"
)

// A flood of refused messages displaces none that was answered from what the
// session remembers, and is remembered itself.
func TestRefusedFloodIsRemembered(t *testing.T) {
	t.Parallel()
	const flood = 11_000 // more than a session remembers ids
	a := narrow()
	w := newWorld(t, a)
	w.blocked()
	w.say("ana", bus.Inbound{ID: "first", Text: "hi"})
	w.wantHeard("first reply")
	w.say("ana", bus.Inbound{ID: "wait", Text: "slow"})
	w.eventually("the run", func() bool { return w.fleet.Status()[0].Running == 2 })
	for _, in := range waiting() {
		w.say("ana", in)
	}
	w.onlyHeld(5)
	for i := range flood {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("f", i), Text: "more"})
		if i%500 == 499 {
			for range 500 {
				if out := w.hear(); out.Kind != "error" {
					t.Fatalf("heard %s %q", out.InReplyTo, out.Kind)
				}
			}
		}
	}
	w.onlyHeld(5)
	w.stop()
	w.start(a)
	w.delivered(5)
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard("wait error", "q1 reply", "q2 reply", "q3 reply")
	for most := int64(flood); most > 0; most -= 1000 { // all of it comes again, and on a busy machine takes minutes
		w.eventually(fmt.Sprintf("%d messages held at most", most), func() bool { return w.fleet.Status()[0].Queued <= most })
	}
	w.onlyHeld(1)
	w.silent()
}

// What was answered and comes again after a restart takes no room in the queue.
func TestAnsweredMessagesTakeNoRoom(t *testing.T) {
	t.Parallel()
	a := narrow()
	w := newWorld(t, a)
	w.blocked()
	for i := range 60 {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("m", i), Text: "hi"})
		w.wantHeard(fmt.Sprintf("m%d reply", i))
	}
	w.onlyHeld(1)
	w.stop()
	for i := range 3 {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("new", i), Text: "hi"})
	}
	w.start(a)
	w.wantHeard("new0 reply", "new1 reply", "new2 reply")
	w.onlyHeld(1)
	w.silent()
}

// A commit that the server refuses for good lets nothing newer go first: the run
// is tried again in its place, and is given up at last.
func TestRefusedCommitKeepsTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{when: big, text: `+strings.Repeat("x", 8000)+`}, {text: "${text}"}]`)))
	stream, err := w.bus.JS.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgSize = 4096
	if _, err := w.bus.JS.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	w.say("ana", bus.Inbound{ID: "a", Text: "big"})
	w.say("ana", bus.Inbound{ID: "b", Text: "small"})
	w.wantHeard("a error", "b reply")
	w.settled()
	w.silent()
	dead, err := w.bus.JS.Stream(t.Context(), bus.DeadStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dead.GetLastMsgForSubject(t.Context(), "agent.dead.ana"); err != nil {
		t.Errorf("the dead letter: %v", err)
	}
}
