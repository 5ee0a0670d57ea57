package engine_test

import (
	"context"
	"fmt"
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

// A message that was refused for want of room may be sent again, with its id. Its sender is told
// each time: the stream does not take the second refusal for the first.
func TestRefusedTwiceUnderOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, narrow())
	w.busy(waiting()...)
	for n := range uint64(2) {
		w.say("ana", bus.Inbound{ID: "q4", Text: "more"})
		w.wantHeard("q4 error")
		w.eventually("the refusal is stored", func() bool { return w.stored(bus.OutboundStream) == n+1 })
	}
	w.say("ana", bus.Inbound{ID: "end", Text: "/stop"})
	w.wantHeard("slow error", "q1 reply", "q2 reply", "q3 reply")
	w.settled()
	w.silent()
}
