package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A delivery that the server has made and that did not come, as it was lost on its way,
// comes again before what is newer, and at once.
func TestLaneNoticesLostDeliveries(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		nc, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		one.want("1")[0].Done()
		lost := divert(t, nc, js)
		sent := time.Now()
		bustest.Publish(t, js, web, "2", "3", "4")
		got := one.take(3)
		if text := string(waittest.For(t, "a delivery that is lost", lost).Data); text != "3" {
			t.Fatalf("%s was lost, want 3", text)
		}
		var texts []string
		for _, d := range got {
			texts = append(texts, string(d.Data()))
			d.Done()
		}
		if diff := cmp.Diff([]string{"2", "3", "4"}, texts); diff != "" {
			t.Errorf("deliveries: %s", diff)
		}
		if took := time.Since(sent); took > time.Second {
			t.Errorf("the lost one came after %s of the fake clock, want it at once", took)
		}
		one.quiet(aWhile)
	})
}

// When the answer to a reset is lost, the consumer counts from one again and the lane does not
// know it. The lane takes nothing until it has reset the consumer itself, not even a message
// that happens to have the next expected count.
func TestLaneNoticesAResetOfWhichItDoesNotKnow(t *testing.T) {
	for range 8 { // whether that message comes before the lane has stopped asking is chance
		bustest.Bubble(t, func(t *testing.T) {
			ns := fleet(t)
			_, js := connect(t, ns)
			one := join(t, ns, "one")
			bustest.Publish(t, js, web, "1")
			each(one.want("1"), (*delivery.Delivery).Done)
			one.quiet(aWhile)
			if _, err := js.ResetConsumer(t.Context(), bus.InboundStream, delivery.LaneName(0)); err != nil {
				t.Fatal(err)
			}
			bustest.Publish(t, js, web, numbers(2, 30)...)
			var texts []string
			for _, d := range one.take(29) {
				texts = append(texts, string(d.Data()))
				d.Done()
			}
			if diff := cmp.Diff(numbers(2, 30), texts); diff != "" {
				t.Errorf("deliveries: %s", diff)
			}
			one.quiet(aWhile)
		})
	}
}

// divert has the server deliver one message of lane 0 elsewhere, as if to its owner. Pulls
// take turns: it is the second from now on.
func divert(t *testing.T, nc *nats.Conn, js jetstream.JetStream) <-chan *nats.Msg {
	t.Helper()
	info := consumer(t, js)
	pull, err := json.Marshal(map[string]any{"batch": 1, "group": "owner", "id": info.PriorityGroups[0].PinnedClientID, "expires": time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	inbox, lost := nc.NewInbox(), make(chan *nats.Msg, 10)
	if _, err := nc.ChanSubscribe(inbox, lost); err != nil {
		t.Fatal(err)
	}
	subject := bus.APIPrefix(js) + "CONSUMER.MSG.NEXT." + bus.InboundStream + "." + delivery.LaneName(0)
	if err := nc.PublishRequest(subject, inbox, pull); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server has the pull", func() bool { return consumer(t, js).NumWaiting > info.NumWaiting })
	return lost
}
