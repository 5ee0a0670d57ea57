package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A while is longer than every timer of a lane.
const aWhile = 30 * time.Second

func consumer(t *testing.T, js jetstream.JetStream) *jetstream.ConsumerInfo {
	t.Helper()
	c, err := js.Consumer(t.Context(), bus.InboundStream, bus.LaneName(0))
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo()
}

func TestLaneDelivers(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		msg := nats.NewMsg(web)
		msg.Data = []byte("1")
		msg.Header.Set("traceparent", "00-1")
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		h := join(t, ns, "one")
		first := h.want("1")[0]
		<-h.gained
		if first.Subject != web || first.Seq != 1 || first.Stored.IsZero() || first.Header().Get("traceparent") != "00-1" ||
			first.Stream() != bus.InboundStream || first.Lane() != h.Lane {
			t.Errorf("got %+v, want what was published", first)
		}
		publish(t, js, web, numbers(2, 300)...)
		rest := h.want(numbers(2, 300)...)
		if !h.Serving() || h.Held() != 300 {
			t.Errorf("serving %t, held %d, want true, 300", h.Serving(), h.Held())
		}
		if owns, err := h.Owns(t.Context()); err != nil || !owns {
			t.Errorf("Owns: got %t, %v, want true", owns, err)
		}
		h.quiet(aWhile) // they are extended for as long as they are held
		each(rest, (*bus.Delivery).Done)
		first.Done()
		h.quiet(aWhile)
		if info := consumer(t, js); h.Held() != 0 || info.NumAckPending != 0 || info.AckFloor.Stream != 300 {
			t.Errorf("held %d, unacknowledged %d, floor %d, want 0, 0, 300", h.Held(), info.NumAckPending, info.AckFloor.Stream)
		}
		if len(h.gained) > 0 {
			t.Error("gained twice, want once")
		}
	})
}

func TestLaneDeliversAgainWhatWasLeft(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		publish(t, js, web, "1", "2", "3")
		h := join(t, ns, "one")
		got := h.want("1", "2", "3")
		got[0].Done()
		got[1].Leave()
		got[2].Done()
		h.want("2?")[0].Done()
		h.quiet(aWhile)
	})
}

// What several agents hold is done when the last of them is, and comes again
// when one of them leaves it.
func TestLaneWaitsForEveryHolder(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		publish(t, js, web, "1", "2")
		h := join(t, ns, "one")
		got := h.want("1", "2")
		for _, d := range got {
			d.Hold(3)
			d.Done()
			d.Done()
		}
		h.quiet(aWhile)
		if info := consumer(t, js); h.Held() != 2 || info.NumAckPending != 2 {
			t.Errorf("before the last: held %d, unacknowledged %d, want 2, 2", h.Held(), info.NumAckPending)
		}
		got[0].Done()
		got[1].Leave()
		h.want("2?")[0].Done()
		h.quiet(aWhile)
		if info := consumer(t, js); h.Held() != 0 || info.NumAckPending != 0 {
			t.Errorf("after the last: held %d, unacknowledged %d, want 0, 0", h.Held(), info.NumAckPending)
		}
	})
}

// A host dies while it holds 2 and 4 of 6. The next gets what is left, in
// order, within ten seconds.
func TestLaneTakeover(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		publish(t, js, web, numbers(1, 6)...)
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
		publish(t, js, web, "7")
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
		each(got, (*bus.Delivery).Done)
		two.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 {
			t.Errorf("unacknowledged: got %d, want 0", n)
		}
	})
}

// A host that stops hands its lane over at once, with what it leaves.
func TestLaneRelease(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		publish(t, js, web, "1", "2", "3")
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
		if diff := cmp.Diff([]string{"2?", "3?"}, describe(got)); diff != "" {
			t.Error(diff)
		}
		publish(t, js, web, "4")
		two.want("4")
	})
}

// While it finishes what it holds, a stopping host takes nothing more, and
// what it holds is not given to others.
func TestLaneFinishesWhatItHolds(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		publish(t, js, web, "1")
		held := one.want("1")
		one.pull()
		time.Sleep(aWhile) // until the server has noticed
		publish(t, js, web, "2")
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
		publish(t, js, web, "1", "2", "3")
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
		publish(t, js, web, "4")
		again.want("4")
	})
}

// With nobody serving and messages left, a host of another name need not wait
// for their timers either.
func TestLaneStartsWhereAllDied(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		publish(t, js, web, "1", "2")
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

// A consumer deleted under a running lane is made again. What was not
// acknowledged comes; what the lane holds still, it does not get twice.
func TestLaneMakesItsConsumerAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		publish(t, js, web, "1", "2", "3")
		held := h.want("1", "2", "3")
		held[1].Leave()
		if err := js.DeleteConsumer(t.Context(), bus.InboundStream, bus.LaneName(0)); err != nil {
			t.Fatal(err)
		}
		h.want("2?")[0].Done()
		publish(t, js, web, "4")
		h.want("4")[0].Done()
		held[0].Done()
		held[2].Done()
		h.quiet(aWhile)
		if info := consumer(t, js); info.NumAckPending != 0 || info.AckFloor.Stream != 4 {
			t.Errorf("unacknowledged %d, floor %d, want 0, 4", info.NumAckPending, info.AckFloor.Stream)
		}
	})
}

// A consumer that was deleted while its host was away is made again too: there
// is nobody to tell the host but the silence.
func TestLaneNoticesThatItsConsumerIsGone(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		publish(t, js, web, "1")
		h.want("1")[0].Done()
		h.flush()
		h.door.shut.Store(true)
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := js.DeleteConsumer(t.Context(), bus.InboundStream, bus.LaneName(0)); err != nil {
			t.Fatal(err)
		}
		publish(t, js, web, "2")
		h.door.shut.Store(false)
		h.want("1?", "2")
	})
}

// Whoever takes the pin away by hand makes the lane change hands.
func TestLaneIsUnpinned(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		publish(t, js, web, "1")
		held := h.want("1")
		<-h.gained
		s, err := js.Stream(t.Context(), bus.InboundStream)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.UnpinConsumer(t.Context(), bus.LaneName(0), "owner"); err != nil {
			t.Fatal(err)
		}
		publish(t, js, web, "2")
		h.want("2")[0].Done()
		<-h.gained
		held[0].Done()
		h.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 || !h.Serving() {
			t.Errorf("unacknowledged %d, serving %t, want 0, true", n, h.Serving())
		}
	})
}

// Past 64 agents a lane of routes takes every route, but no schedule.
func TestLaneOfManyRoutes(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		var routes []string
		for _, s := range numbered(65) {
			routes = append(routes, bus.RoutePrefix+strings.TrimPrefix(s, bus.InboundPrefix))
		}
		got := make(chan string, 10)
		l := bus.NewLane(js, bus.LaneConfig{Stream: bus.RoutesStream, Name: bus.LaneName(0), Filters: routes, Host: "one"}, bustest.Log(t),
			func(context.Context) {}, func(d *bus.Delivery) { got <- d.Subject; d.Done() })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, ctx) }()
		publish(t, js, "agent.schedule.ana.x", "not for us")
		publish(t, js, "agent.route.c01", "x")
		if subject := <-got; subject != "agent.route.c01" {
			t.Errorf("got %s, want agent.route.c01", subject)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLaneGoesOnWithoutItsStream(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		if err := js.DeleteStream(t.Context(), bus.InboundStream); err != nil {
			t.Fatal(err)
		}
		h.quiet(aWhile)
		provision(t, js)
		publish(t, js, web, "1")
		h.want("1")
	})
}

func TestLaneGoesOnAfterACut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		publish(t, js, web, "1")
		held := h.want("1")
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		publish(t, js, web, "2")
		if second := h.take(1)[0]; second.Seq != 2 { // it may have been sent into the cut
			t.Errorf("got message %d, want 2", second.Seq)
		} else {
			second.Done()
		}
		held[0].Done()
		h.quiet(aWhile)
		if n := consumer(t, js).NumAckPending; n != 0 {
			t.Errorf("unacknowledged: got %d, want 0", n)
		}
	})
}

func TestLaneFiltersOnlyWiden(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		filters := func() []string {
			c := consumer(t, js).Config
			if c.FilterSubject != "" {
				return []string{c.FilterSubject}
			}
			return c.FilterSubjects
		}
		want := func(list ...string) {
			t.Helper()
			if diff := cmp.Diff(list, filters()); diff != "" {
				t.Error(diff)
			}
		}
		one := join(t, ns, "one", web)
		want(web)
		publish(t, js, web, "0")
		one.want("0")
		two := join(t, ns, "two", "plugin.inbound.irc", "plugin.inbound.telegram.*")
		want("plugin.inbound.irc", "plugin.inbound.telegram.*", web)
		publish(t, js, "plugin.inbound.irc", "1")
		one.want("1") // it serves what it does not know itself
		two.stop()
		one.stop()
		three := join(t, ns, "three", web, "plugin.inbound.telegram.sales")
		want("plugin.inbound.irc", "plugin.inbound.telegram.*", web)
		three.stop()
		join(t, ns, "four", numbered(65)...).stop()
		want(all)
		join(t, ns, "five", web).stop()
		want(all)
	})
}

// A consumer that somebody made to take everything is not narrowed.
func TestLaneKeepsAConsumerOfEverything(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		join(t, ns, "one", web).stop()
		cfg := consumer(t, js).Config
		cfg.FilterSubject, cfg.FilterSubjects = "", nil
		if _, err := js.UpdateConsumer(t.Context(), bus.InboundStream, cfg); err != nil {
			t.Fatal(err)
		}
		join(t, ns, "two", web)
		if c := consumer(t, js).Config; c.FilterSubject != "" || len(c.FilterSubjects) > 0 {
			t.Errorf("filters: got %q %q, want none", c.FilterSubject, c.FilterSubjects)
		}
	})
}

// Of hosts that start at the same moment, one serves.
func TestLaneIsMadeByManyHosts(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		started := make(chan *host, 5)
		for i := range cap(started) {
			go func() { started <- join(t, ns, fmt.Sprint("host", i)) }()
		}
		var hosts []*host
		for range cap(started) {
			hosts = append(hosts, <-started)
		}
		publish(t, js, web, "1")
		time.Sleep(aWhile)
		hosts = slices.DeleteFunc(hosts, func(h *host) bool { return !h.Serving() && len(h.got) == 0 })
		if len(hosts) != 1 {
			t.Fatalf("serving: got %d hosts, want 1", len(hosts))
		}
		hosts[0].want("1")
	})
}

// A note that cannot be read is as good as none.
func TestLaneIgnoresABrokenNote(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		kv, err := js.KeyValue(t.Context(), bus.LanesBucket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.PutString(t.Context(), "AGENT_INBOUND.lane-00", "{"); err != nil {
			t.Fatal(err)
		}
		publish(t, js, web, "1")
		join(t, ns, "one").want("1")
		if e, err := kv.Get(t.Context(), "AGENT_INBOUND.lane-00"); err != nil || !strings.Contains(string(e.Value()), `"host":"one"`) {
			t.Errorf("note: got %s, %v, want the host's", e.Value(), err)
		}
	})
}

// Without the bucket of notes the lane waits for it and says so.
func TestLaneNeedsItsNotes(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		if err := js.DeleteKeyValue(t.Context(), bus.LanesBucket); err != nil {
			t.Fatal(err)
		}
		publish(t, js, web, "1", "2")
		h.quiet(aWhile)
		provision(t, js)
		h.want("1?", "2?")
		time.Sleep(aWhile)
	})
}

// A lane that holds too much slows down; neither messages are lost nor, to a
// host that stands by, the lane itself.
func TestLaneSlowsDown(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		publish(t, js, web, "0")
		h.want("0")[0].Done()
		two := join(t, ns, "two")
		h.Burden(bus.MaxHeldBytes + 1)
		began := time.Now()
		publish(t, js, web, numbers(1, 20)...)
		got := h.want(numbers(1, 20)...)
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("20 messages took %s, want it slower", took)
		}
		h.Burden(-bus.MaxHeldBytes - 1)
		each(got, (*bus.Delivery).Done)
		publish(t, js, web, numbers(21, 30)...)
		time.Sleep(aWhile)
		var fresh []string
		for len(h.got) > 0 { // what waited too long to be handed out came again
			d := h.take(1)[0]
			d.Done()
			if !d.Tried {
				fresh = append(fresh, string(d.Data()))
			}
		}
		if diff := cmp.Diff(numbers(21, 30), fresh); diff != "" {
			t.Error(diff)
		}
		two.quiet(aWhile)
		if len(h.gained) != 1 || two.Serving() {
			t.Errorf("gained %d times, the other serves: %t, want once, false", len(h.gained), two.Serving())
		}
	})
}
