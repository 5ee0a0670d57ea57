package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"
)

// held is how many messages of AGENT_INBOUND are unacknowledged, and how many are
// still to be delivered.
func (w *world) held() (held, pending int) {
	w.t.Helper()
	for n := range 4 {
		c, err := w.bus.JS.Consumer(w.t.Context(), bus.InboundStream, delivery.LaneName(n))
		if err == nil {
			held += c.CachedInfo().NumAckPending
			pending += int(c.CachedInfo().NumPending)
		}
	}
	return held, pending
}

// onlyHeld waits until n messages are unacknowledged and no others are left.
func (w *world) onlyHeld(n int) {
	w.t.Helper()
	w.eventually(fmt.Sprint(n, " messages held"), func() bool {
		held, pending := w.held()
		return held == n && pending == 0
	})
}

// delivered waits until at least n messages are unacknowledged, and all are
// delivered.
func (w *world) delivered(n int) {
	w.t.Helper()
	w.eventually(fmt.Sprint("all delivered, ", n, " held"), func() bool {
		held, pending := w.held()
		return held >= n && pending == 0
	})
}

// blocked has a message of bob's under way, which keeps all that is newer above
// the consumer's ack floor: it comes again after a restart, answered or not.
func (w *world) blocked() {
	w.t.Helper()
	w.say("ana", bus.Inbound{ID: "slow", From: "bob", Text: "slow"})
	w.onlyHeld(1)
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

// A message that was refused gets no answer besides when it comes again.
func TestRefusedMessagesComeAgain(t *testing.T) {
	t.Parallel()
	a := narrow()
	w := newWorld(t, a)
	w.busy(waiting()...)
	for _, id := range []string{"q4", "q5", "q6"} {
		w.say("ana", bus.Inbound{ID: id, Text: "more"})
		w.wantHeard(id + " error")
	}
	w.onlyHeld(4)
	w.stop()
	a.cfg.Session.QueueMax = 10
	w.start(a)
	w.delivered(4)
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard("slow error", "q1 reply", "q2 reply", "q3 reply")
	w.settled()
	w.silent()
}

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
	w.onlyHeld(1)
	w.silent()
}

// sessionLog is the subject of ana's log.
var sessionLog = session.Subject("ana", session.SID("ana", session.DM("ana", "", "ana")))

// intrude writes into ana's log as another host would.
func (w *world) intrude(ctx context.Context) error {
	_, err := w.bus.JS.Publish(ctx, sessionLog, []byte("not a commit"))
	return err
}

// A run whose log was written to by another host does not go on with its model
// call when that shows beside it.
func TestFencedSpillEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(dawdling)))
	w.say("ana", bus.Inbound{ID: "first", Text: "hi"})
	w.wantHeard("first reply")
	w.busy()
	if err := w.intrude(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.stored(bus.SessionsStream)
	want := []string{"slow error"}
	for i := range 40 {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("m", i), Text: "hi"})
		want = append(want, fmt.Sprintf("m%d reply", i))
	}
	w.eventually("the run's second attempt and the spilled messages in the log", func() bool {
		return w.stored(bus.SessionsStream) >= before+2
	})
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard(want...)
	w.settled()
	w.silent()
}

// While a run waits, others that write to its log make none of the messages that
// wait behind it count twice.
func TestFencedSpillWhileARunWaits(t *testing.T) {
	t.Parallel()
	const n = 300
	var effects atomic.Int64
	a := bot("ana", script(dawdling), has(counter(&effects)))
	a.cfg.Session.QueueMax = n
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{ID: "p", Text: "pay"})
	w.wantHeard("p approval")
	w.settled()
	intruding, stop := context.WithCancel(t.Context())
	var intruder sync.WaitGroup
	intruder.Go(func() {
		for w.intrude(intruding) == nil {
		}
	})
	want := []string{"p reply"}
	for i := range n {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("m", i), Text: "hi"})
		want = append(want, fmt.Sprintf("m%d reply", i))
	}
	w.wantHeard("m0 notice")
	stop()
	intruder.Wait()
	w.settled()
	w.say("ana", bus.Inbound{ID: "yes", Text: "approve"})
	w.wantHeard(want...)
	w.settled()
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
