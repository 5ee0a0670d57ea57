package delivery_test

import (
	"context"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// These are in no Bubble: there the server, whenever a stream is updated, takes
// its messages for decades old.

func TestSetLanes(t *testing.T) {
	t.Parallel()
	ns := fleet(t)
	_, js := connect(t, ns)
	quick, slow := join(t, ns, "one", web), joinLane(t, ns, "one", 1, "plugin.inbound.irc")
	idle := joinLane(t, ns, "one", 2, "plugin.inbound.mail")
	for range 5 {
		bustest.Publish(t, js, web, "w")
		bustest.Publish(t, js, "plugin.inbound.irc", "i")
	}
	each(quick.take(5), (*delivery.Delivery).Done)
	held := slow.take(5)
	held[0].Done() // of 2, 4, 6, 8 and 10
	held[3].Done()
	for _, h := range []*host{quick, slow, idle} {
		h.flush()
	}
	bustest.Eventually(t, "the server has worked off all acknowledgements", func() bool {
		return consumer(t, js).NumAckPending == 0 && consumerOf(t, js, 1).NumAckPending == 3
	})
	bustest.WantError(t, delivery.SetLanes(t.Context(), js, 2), "stream AGENT_INBOUND: a host serves lane-0", "stop every host first")
	if c := bustest.StreamConfig(t, js, bus.InboundStream); c.Metadata["agenthost.lanes"] != "4" {
		t.Errorf("after the refusal: got %s lanes, want 4", c.Metadata["agenthost.lanes"])
	}
	for _, h := range []*host{quick, slow, idle} {
		h.stop()
		h.flush()
	}
	makeConsumer(t, js, "lane-7x")
	if err := delivery.SetLanes(t.Context(), js, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lane-7x"}, consumers(t, js)); diff != "" {
		t.Errorf("consumers left: %s", diff)
	}
	provisionLanes(t, js, 2)
	bustest.Publish(t, js, web, "new")
	two := join(t, ns, "two", web, "plugin.inbound.irc", "plugin.inbound.mail")
	var seqs []uint64
	for _, d := range two.take(8) {
		seqs = append(seqs, d.Seq)
	}
	// From the first on that the slowest was not done with.
	if diff := cmp.Diff([]uint64{4, 5, 6, 7, 8, 9, 10, 11}, seqs); diff != "" {
		t.Error(diff)
	}
}

// Lanes that are done with all they were given give nothing again, however
// long ago the last message for one of them was.
func TestSetLanesWhenAllIsDone(t *testing.T) {
	t.Parallel()
	ns := fleet(t)
	_, js := connect(t, ns)
	h, idle := join(t, ns, "one", web), joinLane(t, ns, "one", 1, "plugin.inbound.mail")
	bustest.Publish(t, js, web, "1", "2", "3")
	each(h.take(3), (*delivery.Delivery).Done)
	for _, h := range []*host{h, idle} {
		h.stop()
		h.flush()
	}
	bustest.Eventually(t, "the server has worked off all acknowledgements", func() bool { return consumer(t, js).NumAckPending == 0 })
	for range 2 { // the second time there are no lanes to learn from
		if err := delivery.SetLanes(t.Context(), js, 8); err != nil {
			t.Fatal(err)
		}
	}
	bustest.Publish(t, js, web, "4")
	join(t, ns, "one", web).want("4")
}

func TestSetLanesRefusesWhileRoutesAreServed(t *testing.T) {
	t.Parallel()
	ns := fleet(t)
	nc, js := connect(t, ns)
	h := join(t, ns, "one")
	h.stop()
	h.flush()
	got := make(chan *delivery.Delivery, 1)
	lane := delivery.NewLane(js, delivery.LaneConfig{Stream: bus.RoutesStream, Name: delivery.LaneName(3), Filters: []string{"agent.route.ana"}, Host: "one"},
		bustest.Log(t), func(context.Context, string) {}, func(d *delivery.Delivery) { got <- d })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- lane.Run(ctx, ctx) }()
	bustest.Publish(t, js, "agent.route.ana", "1")
	if d := <-got; d.Stream() != bus.RoutesStream {
		t.Errorf("stream: got %s, want %s", d.Stream(), bus.RoutesStream)
	}
	bustest.WantError(t, delivery.SetLanes(t.Context(), js, 2), "stream AGENT_ROUTES: a host serves lane-03")
	if len(consumers(t, js)) != 1 {
		t.Error("the lanes of the other stream are gone, want them left alone")
	}
	cancel()
	<-done
	nc.Close()
}

// Nobody has the pin of a lane that has had no message yet.
func TestSetLanesRefusesAnIdleFleet(t *testing.T) {
	t.Parallel()
	ns := fleet(t)
	_, js := connect(t, ns)
	idle := join(t, ns, "one")
	idle.flush()
	bustest.WantError(t, delivery.SetLanes(t.Context(), js, 2), "stream AGENT_INBOUND: a host serves lane-00; stop every host first")
	if diff := cmp.Diff([]string{"lane-00"}, consumers(t, js)); diff != "" {
		t.Errorf("consumers left: %s", diff)
	}
	idle.stop()
	idle.flush()
	if err := delivery.SetLanes(t.Context(), js, 2); err != nil {
		t.Error(err)
	}
}

func TestSetLanesRefuses(t *testing.T) {
	b := bustest.Open(t)
	bustest.WantError(t, delivery.SetLanes(t.Context(), b.JS, 2), "there is no stream AGENT_INBOUND", "set nats.lanes instead")
	bustest.Provision(t, b.JS)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	bustest.WantError(t, delivery.SetLanes(ctx, b.JS, 2), "look up stream AGENT_INBOUND")
}

func provisionLanes(t *testing.T, js jetstream.JetStream, lanes int) {
	t.Helper()
	if err := streams.Provision(t.Context(), js, 1, lanes, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
}

func makeConsumer(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	if _, err := js.CreateConsumer(t.Context(), bus.InboundStream, jetstream.ConsumerConfig{Durable: name}); err != nil {
		t.Fatal(err)
	}
}

func consumers(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	s, err := js.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range s.ConsumerNames(t.Context()).Name() {
		names = append(names, name)
	}
	return names
}
