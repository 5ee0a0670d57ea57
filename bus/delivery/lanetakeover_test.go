package delivery_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// A host dies while it holds 2 and 4 of 6. The next gets what is left, in
// order, within ten seconds.
func TestLaneTakeover(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, numbers(1, 6)...)
		held := one.want(numbers(1, 6)...)
		two := join(t, ns, "two")
		two.quiet(time.Minute)
		if two.Serving() {
			t.Error("the second host serves beside the first")
		}
		if owns, err := two.Owns(t.Context()); owns || err != nil {
			t.Errorf("Owns of the second: got %t, %v, want false", owns, err)
		}
		for _, i := range []int{0, 2, 4, 5} {
			held[i].Done()
		}
		one.flush()
		died := time.Now()
		one.die()
		bustest.Publish(t, js, web, "7")
		got := two.take(6)
		if took := time.Since(died); took > 10*time.Second {
			t.Errorf("takeover: took %s, want 10 s at most", took)
		}
		<-two.gained
		// 3, 5 and 6 were done with, but a stream with limits keeps them.
		if diff := cmp.Diff([]string{"2?", "3?", "4?", "5?", "6?", "7"}, describe(got)); diff != "" &&
			!cmp.Equal([]string{"2?", "3?", "4?", "5?", "6?", "7?"}, describe(got)) {
			t.Errorf("deliveries: %s", diff)
		}
		each(got, (*delivery.Delivery).Done)
		two.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 {
			t.Errorf("unacknowledged: got %d, want 0", n)
		}
	})
}

// What was stored when a host died is doubtful for the next, though nothing of it was
// delivered as far as the server knows: one that was restarted forgets that. What comes later
// is not, nor is what a host has let go.
func TestLaneDoubtsWhatWasNotLetGo(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		one.want("1")[0].Done()
		one.flush()
		one.die()
		bustest.Publish(t, js, web, "2")
		two := join(t, ns, "two")
		if d := two.take(1)[0]; !d.Doubtful { // the dead one's pull may have had it: then it is tried as well
			t.Error("what was there at the takeover is not doubtful")
		} else {
			d.Done()
		}
		bustest.Publish(t, js, web, "3")
		if d := two.want("3")[0]; d.Doubtful {
			t.Error("what came after the takeover is doubtful")
		} else {
			d.Leave()
		}
		two.stop()
		if d := join(t, ns, "three").take(1)[0]; d.Doubtful || string(d.Data()) != "3" {
			t.Errorf("got %q, doubtful: %t, want what was let go", d.Data(), d.Doubtful)
		}
	})
}

// A lane that is taken over asks for nothing while its consumer is reset: a server with
// replicas loses what it delivers again beside that. What asks afterwards is new, so its
// inbox is.
func TestLaneStopsAskingBeforeAReset(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		nc, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, numbers(1, 6)...)
		one.want(numbers(1, 6)...)
		two := join(t, ns, "two")
		two.quiet(time.Minute)
		one.die()
		requests := make(chan *nats.Msg, 1000)
		if _, err := nc.ChanSubscribe(bus.APIPrefix(js)+"CONSUMER.>", requests); err != nil {
			t.Fatal(err)
		}
		got := two.take(6)
		two.quiet(aWhile) // it pulls again and again
		each(got, (*delivery.Delivery).Done)
		before, after, reset := map[string]bool{}, 0, false
		for len(requests) > 0 {
			switch m := <-requests; {
			case strings.Contains(m.Subject, ".CONSUMER.RESET."):
				reset = true
			case strings.Contains(m.Subject, ".CONSUMER.MSG.NEXT.") && !reset:
				before[m.Reply] = true
			case strings.Contains(m.Subject, ".CONSUMER.MSG.NEXT."):
				after++
				if before[m.Reply] {
					t.Fatal("what asked before the reset asks after it: it was not stopped")
				}
			}
		}
		if !reset || len(before) == 0 || after == 0 {
			t.Errorf("reset %t, %d inboxes before it, %d pulls after it, want all three", reset, len(before), after)
		}
	})
}

// A host that stops hands its lane over at once, with what it leaves.
func TestLaneRelease(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		held := one.want("1", "2", "3")
		two := join(t, ns, "two")
		held[0].Done()
		held[1].Leave()
		held[2].Leave()
		stopped := time.Now()
		one.stop()
		got := two.take(2)
		if took := time.Since(stopped); took > time.Second {
			t.Errorf("handing over: took %s, want it at once", took)
		}
		if diff := cmp.Diff([]string{"2?~", "3?~"}, describe(got)); diff != "" {
			t.Error(diff)
		}
		bustest.Publish(t, js, web, "4")
		two.want("4")
	})
}

// A host that ends its work after it has let the lane go acknowledges nothing of that: the next
// owner has it, and would take the server to have lost count of it.
func TestLaneEndsWorkAfterHandingOver(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		held := one.want("1", "2", "3")
		two := join(t, ns, "two")
		one.Ask(false)
		bustest.Eventually(t, "one asks for nothing", func() bool { return !one.Asks() })
		if err := one.HandOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := two.want("1?~", "2?~", "3?~")
		each(again[1:], (*delivery.Delivery).Done)
		held[0].Done()
		two.quiet(time.Minute)
		again[0].Done()
		bustest.Eventually(t, "all is acknowledged", func() bool { return consumer(t, js).AckFloor.Stream == 3 })
		one.stop()
	})
}

// What was handed over in good order, and then lost with its host, is not handed
// over: also not by the same host, when it comes back.
func TestLaneReleaseAndThenDeath(t *testing.T) {
	for _, next := range []string{"two", "three"} {
		t.Run(next, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				one := join(t, ns, "one")
				bustest.Publish(t, js, web, "1", "2")
				each(one.want("1", "2"), (*delivery.Delivery).Leave)
				one.stop()
				two := join(t, ns, "two")
				if diff := cmp.Diff([]string{"1?~", "2?~"}, describe(two.take(2))); diff != "" {
					t.Error(diff)
				}
				two.die()
				if diff := cmp.Diff([]string{"1?", "2?"}, describe(join(t, ns, next).take(2))); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// While it finishes what it holds, a stopping host takes nothing more, and
// what it holds is not given to others.
func TestLaneFinishesWhatItHolds(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := one.want("1")
		one.pull()
		time.Sleep(aWhile) // until the server has noticed
		bustest.Publish(t, js, web, "2")
		one.quiet(5 * time.Minute)
		if n := consumer(t, js).NumRedelivered; n != 0 {
			t.Errorf("redelivered: got %d, want 0", n)
		}
		held[0].Done()
		one.stop()
		join(t, ns, "two").want("2")
	})
}

// A host that restarts under its own name takes its lane back at once, though
// its dead self still holds the pin.
func TestLaneRestart(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		held := one.want("1", "2", "3")
		held[1].Done()
		one.flush()
		died := time.Now()
		one.die()
		again := join(t, ns, "one")
		got := again.take(3)
		if took := time.Since(died); took > time.Second {
			t.Errorf("restart: took %s, want it at once", took)
		}
		if diff := cmp.Diff([]string{"1?", "2?", "3?"}, describe(got)); diff != "" {
			t.Error(diff)
		}
		bustest.Publish(t, js, web, "4")
		again.want("4")
	})
}

// While another host of its name lives, the pin that is noted under that name is that one's.
func TestLaneOfANamesake(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		one.want("1")
		pin := consumer(t, js).PriorityGroups[0].PinnedClientID
		lives := atomic.Bool{}
		lives.Store(true)
		d := &door{server: ns}
		_, own := connectThrough(t, d)
		again := serveConfig(t, own, d, delivery.LaneConfig{
			Stream: bus.InboundStream, Name: delivery.LaneName(0), Filters: []string{web}, Host: "one", Namesake: lives.Load,
		})
		bustest.Publish(t, js, web, "2")
		one.want("2")
		if now := consumer(t, js).PriorityGroups[0].PinnedClientID; now != pin {
			t.Errorf("the pin was %q and is %q, want that it stays", pin, now)
		}
		again.quiet(time.Minute)
		lives.Store(false)
		one.die()
		each(again.want("1?", "2?"), (*delivery.Delivery).Done)
	})
}

// With nobody serving and messages left, a host of another name need not wait
// for their timers either.
func TestLaneStartsWhereAllDied(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2")
		one.want("1", "2")
		one.die()
		time.Sleep(7 * time.Second) // the pin is gone, the ack timers run
		began := time.Now()
		two := join(t, ns, "two")
		two.want("1?", "2?")
		if took := time.Since(began); took > time.Second {
			t.Errorf("start: took %s, want it at once", took)
		}
	})
}

// Whoever takes the pin away by hand makes the lane change hands.
func TestLaneIsUnpinned(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := h.want("1")
		<-h.gained
		s, err := js.Stream(t.Context(), bus.InboundStream)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.UnpinConsumer(t.Context(), delivery.LaneName(0), "owner"); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "2")
		h.want("2")[0].Done()
		<-h.gained
		held[0].Done()
		h.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 || !h.Serving() {
			t.Errorf("unacknowledged %d, serving %t, want 0, true", n, h.Serving())
		}
	})
}

// A lane has passed a message when all that was left before it has been handed out: who
// has later work at hand, from a log, waits for that.
func TestLaneTellsHowFarItIs(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		one.want("1", "2", "3")
		two := join(t, ns, "two")
		handed := make(chan int, 1)
		if two.Passed(2, func() { handed <- len(two.got) }) {
			t.Error("the lane has passed what another host holds")
		}
		one.die()
		if n := waittest.For(t, "the lane to have passed the second", handed); n < 2 {
			t.Errorf("with %d handed out it has passed the second", n)
		}
		each(two.want("1?", "2?", "3?"), (*delivery.Delivery).Done)
	})
}

// A host that comes leaves a lane to the one that serves it.
func TestLaneIsLeftToItsOwner(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		one.want("1")
		<-one.gained
		two := join(t, ns, "two")
		bustest.Publish(t, js, web, "2")
		one.want("2")
		two.quiet(time.Minute)
		if len(one.gained)+len(two.gained) != 0 {
			t.Errorf("the lane was gained again, %d times by its owner and %d by the other", len(one.gained), len(two.gained))
		}
	})
}

// A delivery under a pin that was lost is left, unless it was renewed under a later pin of this
// host. What is left is redelivered to the host that serves the lane.
func TestLeaveIfLost(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2")
		held := one.want("1", "2")
		if held[0].LeaveIfLost() || one.Held() != 2 {
			t.Error("it leaves what the host holds")
		}
		stream, err := js.Stream(t.Context(), bus.InboundStream)
		if err == nil {
			err = stream.UnpinConsumer(t.Context(), delivery.LaneName(0), "owner")
		}
		if err != nil {
			t.Fatal(err)
		}
		if owns, err := one.Owns(t.Context()); owns || err != nil {
			t.Errorf("Owns: got %t, %v, want false", owns, err)
		}
		if one.Serving() {
			t.Error("it counts as serving a lane that it does not own")
		}
		if !held[1].LeaveIfLost() || one.Held() != 1 {
			t.Error("it keeps what it has lost")
		}
		bustest.Publish(t, js, web, "3")
		got := one.want("2?", "3") // 1 is held again
		if held[0].LeaveIfLost() || got[0].LeaveIfLost() || one.Held() != 3 {
			t.Error("it leaves what it holds again")
		}
		each(append(got, held[0]), (*delivery.Delivery).Done)
		one.quiet(aWhile)
	})
}

// What was to come again after a takeover may be acknowledged before it comes. Then no message
// says that the lane has passed it, and who waits for that is told all the same.
func TestLaneHasPassedWhatIsAcknowledged(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2")
		for _, d := range h.want("1", "2") {
			d.Done()
		}
		h.quiet(aWhile)
		h.TakenOver()
		passed := make(chan struct{})
		if h.Passed(2, func() { close(passed) }) {
			t.Fatal("it has passed it already")
		}
		select {
		case <-passed:
		case <-time.After(time.Minute): // on a fake clock
			t.Error("it has not passed it a minute later")
		}
	})
}
