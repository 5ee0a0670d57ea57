package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// An answer comes by another stream than messages, which may be taken over later. What it has
// led to, and its owner has not published, is not lost when a newer message opens the session.
func TestWhatAnAnswerHasLedToOutlivesACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		asked := w.hear()
		w.tell(messages(0, 2)...)
		w.pass()
		w.replies.hold()
		w.approve(asked.Call, "")
		w.pass()
		w.crash()
		w.holdLane(bus.RoutesStream, 10*time.Second)
		w.begin()
		w.pass()
		w.tell(messages(2, 1)...)
		w.pass()
		time.Sleep(time.Minute)
		if diff := cmp.Diff(append(messages(0, 3), "pay"), slices.Sorted(slices.Values(w.answered()))); diff != "" {
			t.Errorf("answered (-want +got):\n%s", diff)
		}
		w.settled()
		if n := paid.Load(); n != 1 {
			t.Errorf("paid %d times, want once", n)
		}
	}, has(counter(&paid)))
}

// What waited in the log behind a question has no message of its own any more: the last that was
// answered comes again in its place. The reply to it, which was committed and not published, is
// not lost when another stream opens the session before that, here with a second answer.
func TestReplyToWhatWaitedInTheLogOutlivesACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		asked := w.hear()
		w.tell(messages(0, 2)...)
		w.pass()
		w.model.hold("m00")
		w.alter(bus.Inbound{ID: "yes", Text: "approve", Answers: asked.Call})
		w.pass()
		w.replies.hold()
		w.model.release("m00")
		w.pass()
		w.crash()
		w.holdLane(bus.InboundStream, 5*time.Minute)
		w.begin()
		w.approve(asked.Call, "")
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff(append(messages(0, 2), "pay"), slices.Sorted(slices.Values(w.answered()))); diff != "" {
			t.Errorf("answered (-want +got):\n%s", diff)
		}
		w.settled()
	}, has(counter(&paid)))
}

// holdLane has another host own the lane of the agent in a stream for a time.
func (w *crashWorld) holdLane(name string, d time.Duration) {
	w.t.Helper()
	lane := delivery.LaneName(engine.LaneOf("ana", 4))
	consumer, err := w.js.Consumer(w.t.Context(), name, lane)
	if err != nil {
		w.t.Fatal(err)
	}
	stream, err := w.js.Stream(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := stream.UnpinConsumer(w.t.Context(), lane, "owner"); err != nil {
		w.t.Fatal(err)
	}
	msgs, err := consumer.Messages(jetstream.PullPriorityGroup("owner"), jetstream.PullExpiry(2*time.Second), jetstream.PullMaxMessages(1))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := msgs.Next(); err != nil { // it has the pin now
		w.t.Fatal(err)
	}
	time.AfterFunc(d, msgs.Stop)
}
