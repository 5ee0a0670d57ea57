package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A while is longer than every timer of a lane.
const aWhile = 30 * time.Second

func consumer(t *testing.T, js jetstream.JetStream) *jetstream.ConsumerInfo {
	t.Helper()
	return consumerOf(t, js, 0)
}

func consumerOf(t *testing.T, js jetstream.JetStream, lane int) *jetstream.ConsumerInfo {
	t.Helper()
	c, err := js.Consumer(t.Context(), bus.InboundStream, delivery.LaneName(lane))
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
		bustest.Publish(t, js, web, numbers(2, 300)...)
		rest := h.want(numbers(2, 300)...)
		if !h.Serving() || h.Held() != 300 {
			t.Errorf("serving %t, held %d, want true, 300", h.Serving(), h.Held())
		}
		if owns, err := h.Owns(t.Context()); err != nil || !owns {
			t.Errorf("Owns: got %t, %v, want true", owns, err)
		}
		h.quiet(aWhile) // they are extended for as long as they are held
		each(rest, (*delivery.Delivery).Done)
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
		bustest.Publish(t, js, web, "1", "2", "3")
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
		bustest.Publish(t, js, web, "1", "2")
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

// A lane that holds too much slows down; neither messages are lost nor, to a
// host that stands by, the lane itself.
func TestLaneSlowsDown(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "0")
		h.want("0")[0].Done()
		two := join(t, ns, "two")
		h.Burden(delivery.MaxHeldBytes + 1)
		began := time.Now()
		bustest.Publish(t, js, web, numbers(1, 20)...)
		got := h.want(numbers(1, 20)...)
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("20 messages took %s, want it slower", took)
		}
		h.Burden(-delivery.MaxHeldBytes - 1)
		each(got, (*delivery.Delivery).Done)
		bustest.Publish(t, js, web, numbers(21, 30)...)
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

// Each of the messages that wait may be the one with which a lane is taken over.
func TestLaneThatCannotBeTakenOverLogsNoFlood(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		_, js := connect(t, fleet(t))
		var log bustest.LogBuffer
		cfg := delivery.LaneConfig{Stream: bus.InboundStream, Name: delivery.LaneName(0), Filters: []string{web}, Host: "one"}
		lane := delivery.NewLane(js, cfg, zerolog.New(&log), func(context.Context, string) {}, func(*delivery.Delivery) {})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() {
			<-lane.Up()
			if err := js.DeleteKeyValue(ctx, bus.LanesBucket); err != nil {
				t.Error(err)
			}
			bustest.Publish(t, js, web, numbers(1, 200)...)
		}()
		if err := lane.Run(ctx, ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "take over lane"); n == 0 || n > 20 {
			t.Errorf("200 messages made %d log lines, want a few", n)
		}
	})
}

// A lane whose stream is gone says so when it begins, and then now and again.
func TestLaneWithoutStreamLogsNoFlood(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		_, js := connect(t, fleet(t))
		if err := js.DeleteStream(t.Context(), bus.InboundStream); err != nil {
			t.Fatal(err)
		}
		var log bustest.LogBuffer
		cfg := delivery.LaneConfig{Stream: bus.InboundStream, Name: delivery.LaneName(0), Filters: []string{web}, Host: "one"}
		lane := delivery.NewLane(js, cfg, zerolog.New(&log), func(context.Context, string) {}, func(*delivery.Delivery) {})
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		if err := lane.Run(ctx, ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "lane consumer: failed"); n != 3 {
			t.Errorf("150 s made %d log lines, want 3: %s", n, log.String())
		}
	})
}

func numbers(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// What a host holds is not delivered again while it does, however long that is.
func TestLaneHoldsForAsLongAsItTakes(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := one.want("1")
		one.quiet(5 * time.Minute)
		if n := consumer(t, js).NumRedelivered; n != 0 {
			t.Errorf("redelivered: got %d, want 0", n)
		}
		held[0].Done()
		waittest.Until(t, "it is acknowledged", func() bool { return consumer(t, js).NumAckPending == 0 })
	})
}
