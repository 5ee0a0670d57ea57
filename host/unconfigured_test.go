package host_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// The consumer of an account that no host has any more is listed, with what waits.
func TestUnconfiguredAccountIsListed(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, b.JS)
	_, err := b.JS.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: "plugin-telegram-old", FilterSubjects: []string{bus.OwnerPrefix + "telegram.old", bus.OutboundPrefix + "telegram.old"},
		AckPolicy: jetstream.AckExplicitPolicy, PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{"owner"}, PinnedTTL: time.Second,
	})
	if err == nil {
		_, err = b.JS.Publish(t.Context(), bus.OutboundPrefix+"telegram.old", []byte(`{"id":"r1","to":"7","text":"hello"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg := demo(t)
	cfg.NATS.URL, cfg.HTTP.Listen = url, ""
	start(t, cfg)
	fleet := client.New(b.NC, b.JS, client.Options{})
	waittest.Until(t, "the account is listed", func() bool {
		list, err := fleet.Channels(t.Context())
		return err == nil && len(list) == 1 && list[0].Name() == "telegram.old" && list[0].State == client.StateUnconfigured &&
			list[0].Waiting == 1 && len(list[0].Hosts) == 0
	})
}
