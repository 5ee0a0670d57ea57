//go:build long

package host_test

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS answers a publish, and delivers a message, on whatever subject a client
// names. What comes to a host that way is no order to it.
func TestAnswersOfNATSAreNoOrders(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc, js := h.Bus().NC, h.Bus().JS
	reloads, err := nc.SubscribeSync("agent.events.*.reload")
	if err != nil {
		t.Fatal(err)
	}
	// Its acknowledgement goes to the host.
	if err := nc.PublishRequest("plugin.inbound.demo", "agenthost.reload", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	cons, err := js.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{Name: "forger", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "an answer is stored", func() bool {
		info, err := cons.Info(t.Context())
		return err == nil && info.NumPending > 0
	})
	pull := nats.NewMsg("$JS.API.CONSUMER.MSG.NEXT.AGENT_OUTBOUND.forger")
	pull.Reply, pull.Data = "agenthost.reload", []byte(`{"batch":1}`)
	if err := nc.PublishMsg(pull); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the answer is delivered to the host", func() bool {
		info, err := cons.Info(t.Context())
		return err == nil && info.NumAckPending == 1
	})
	// A request is an order, and comes after the others.
	if _, err := nc.RequestWithContext(t.Context(), "agenthost.reload", nil); err != nil {
		t.Fatal(err)
	}
	if n, _, err := reloads.Pending(); err != nil || n > 1 {
		t.Errorf("got %d reloads, %v, want the one that was asked for", n, err)
	}
	stats, err := nc.RequestWithContext(t.Context(), "$SRV.STATS.agenthost", nil)
	if err != nil || !strings.Contains(string(stats.Data), "agenthost.reload") {
		t.Errorf("got %v, %v", stats, err)
	}
}
