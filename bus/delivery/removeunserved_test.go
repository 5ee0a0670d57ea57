package delivery_test

import (
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// A consumer goes once no host asks it and nothing is left; before that it stays.
func TestRemoveUnserved(t *testing.T) {
	t.Parallel()
	ns := fleet(t)
	_, js := connect(t, ns)
	remove := func(stays bool, when string) {
		t.Helper()
		if err := delivery.RemoveUnserved(t.Context(), js, bus.InboundStream, delivery.LaneName(0)); err != nil {
			t.Fatal(err)
		}
		_, err := js.Consumer(t.Context(), bus.InboundStream, delivery.LaneName(0))
		if gone := errors.Is(err, jetstream.ErrConsumerNotFound); gone == stays || err != nil && !gone {
			t.Fatalf("%s: %v", when, err)
		}
	}
	h := join(t, ns, "one", web)
	bustest.Publish(t, js, web, "1")
	held := h.take(1)
	remove(true, "while a host serves it")
	h.stop()
	remove(true, "while a message is left")
	h = join(t, ns, "two", web)
	each(held, (*delivery.Delivery).Leave)
	each(h.take(1), (*delivery.Delivery).Done)
	h.flush()
	bustest.Eventually(t, "the server has worked off the acknowledgement", func() bool { return consumer(t, js).NumAckPending == 0 })
	h.stop()
	h.flush()
	remove(false, "when nothing is left")
	remove(false, "when it is gone")
}
