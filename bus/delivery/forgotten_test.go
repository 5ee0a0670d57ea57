package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// A forgetful server says of a consumer that nothing is open, though not all that it has
// delivered is acknowledged, until the consumer is reset. It may not even count that as
// delivered.
type forgetful struct {
	jetstream.JetStream
	uncounted bool
	forgets   atomic.Bool
	resets    atomic.Int32
}

func (f *forgetful) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	consumer, err := f.JetStream.Consumer(ctx, stream, name)
	if err != nil {
		return nil, err
	}
	if info := consumer.CachedInfo(); f.forgets.Load() && info.NumAckPending > 0 {
		info.NumAckPending = 0
		if f.uncounted {
			info.Delivered.Consumer = info.AckFloor.Consumer
		}
	}
	return consumer, nil
}

func (f *forgetful) ResetConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerResetResponse, error) {
	f.forgets.Store(false)
	f.resets.Add(1)
	return f.JetStream.ResetConsumer(ctx, stream, name)
}

// What a server has delivered and forgotten is asked for again, once.
func TestLaneOfAServerThatForgets(t *testing.T) {
	t.Run("what it has counted", func(t *testing.T) { testForgetful(t, false) })
	t.Run("that it has delivered at all", func(t *testing.T) { testForgetful(t, true) })
}

func testForgetful(t *testing.T, uncounted bool) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		d := &door{server: ns}
		_, through := connectThrough(t, d)
		server := &forgetful{JetStream: through, uncounted: uncounted}
		h := serveLane(t, server, d, "one", 0, web)
		bustest.Publish(t, js, web, "1", "2")
		got := h.want("1", "2")
		got[0].Done()
		h.quiet(aWhile)
		if n := server.resets.Load(); n != 0 {
			t.Fatalf("the consumer was reset %d times, and nothing was forgotten", n)
		}
		server.forgets.Store(true)
		h.quiet(aWhile) // it holds what comes again
		if n := server.resets.Load(); n != 1 {
			t.Errorf("the consumer was reset %d times, want once", n)
		}
		bustest.Publish(t, js, web, "3")
		h.want("3")[0].Done()
		got[1].Done()
		h.quiet(aWhile)
		if info := consumer(t, js); info.NumAckPending != 0 || info.AckFloor.Stream != 3 || !h.Serving() {
			t.Errorf("unacknowledged %d, floor %d, serving %t, want 0, 3, true", info.NumAckPending, info.AckFloor.Stream, h.Serving())
		}
	})
}

// An overlooking server says of a consumer that was reset that it has delivered nothing since, and
// come to the end of the stream all the same, until it is reset again.
type overlooking struct {
	jetstream.JetStream
	overlooks atomic.Bool
	floor, to uint64
	resets    atomic.Int32
}

func (o *overlooking) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	consumer, err := o.JetStream.Consumer(ctx, stream, name)
	if err == nil && o.overlooks.Load() {
		info := consumer.CachedInfo()
		info.AckFloor.Stream, info.Delivered.Stream, info.Delivered.Consumer, info.NumPending = o.floor, o.to, 0, 0
	}
	return consumer, err
}

func (o *overlooking) ResetConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerResetResponse, error) {
	o.resets.Add(1)
	if o.overlooks.Swap(false) {
		return o.ResetConsumerToSequence(ctx, stream, name, o.floor+1)
	}
	return o.JetStream.ResetConsumer(ctx, stream, name)
}

// What a consumer of several subjects passes over is asked for again, though no host was ever
// given it.
func TestLaneThatTheServerPassesOver(t *testing.T) {
	const room, other = "plugin.inbound.room", "plugin.inbound.other"
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one", web, room)
		bustest.Publish(t, js, web, "1")
		one.want("1")[0].Done()
		one.quiet(aWhile)
		one.stop()
		bustest.Publish(t, js, room, "2", "3")
		if _, err := js.ResetConsumerToSequence(t.Context(), bus.InboundStream, delivery.LaneName(0), 4); err != nil {
			t.Fatal(err)
		}
		d := &door{server: ns}
		_, through := connectThrough(t, d)
		server := &overlooking{JetStream: through, floor: 1, to: 3}
		server.overlooks.Store(true)
		two := serveLane(t, server, d, "two", 0, web, room)
		each(two.want("2?", "3?"), (*delivery.Delivery).Done)
		two.quiet(4 * aWhile)

		bustest.Publish(t, js, other, "4") // is not for this lane
		server.floor, server.to = 3, 4
		server.overlooks.Store(true)
		two.quiet(4 * aWhile)
		server.overlooks.Store(false)
		bustest.Publish(t, js, web, "5")
		two.want("5")[0].Done()
		if n := server.resets.Load(); n != 1 {
			t.Errorf("the consumer was reset %d times, want once", n)
		}
	})
}
