//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// eventPlan is an agent that is told of what a stream keeps.
var eventPlan = plan{
	scripts: map[string]string{"main": `rules: [{delay: 20ms, text: "${text}"}]`},
	agents:  []string{`{id: ana, events: [{subject: "orders.>", prompt: "${id} of ${subject.1}", to: {channel: shop, chat: all}}]}`},
}

// Events are told once each while the hosts that tell them are killed one after
// the other, and those that come while none runs are told afterwards.
func TestEventsOfKilledHosts(t *testing.T) {
	t.Parallel()
	rng, w := newRand(t), eventPlan.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	orders, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := []*process{newHost(t, w.config, "a"), newHost(t, w.config, "b")}
	for _, h := range hosts {
		h.start()
	}
	await(t, "the consumer", func() bool {
		names := orders.ConsumerNames(ctx)
		return len(slices.Collect(func(yield func(string) bool) {
			for name := range names.Name() {
				yield(name)
			}
		})) == 1
	})
	n := pick(400, 4000)
	published := make(chan struct{})
	go func() {
		defer close(published)
		for i := range n {
			data := fmt.Appendf(nil, `{"id":%d}`, i)
			if _, err := w.js.Publish(ctx, fmt.Sprintf("orders.p%d", i%20), data); err != nil {
				t.Error(err)
			}
			<-time.After(10 * time.Millisecond)
		}
	}()
	kills := breakUntil(published, rng, 200*time.Millisecond, 900*time.Millisecond, func() {
		h := hosts[rng.IntN(2)]
		h.kill()
		h.start()
	})
	for _, h := range hosts {
		h.kill()
	}
	const late = 20
	for i := range late {
		if _, err := w.js.Publish(ctx, fmt.Sprintf("orders.p%d", i), fmt.Appendf(nil, `{"id":%d}`, n+i)); err != nil {
			t.Fatal(err)
		}
	}
	hosts[0].start()
	notices := tape{js: w.js, stream: bus.OutboundStream}
	await(t, "a notice of every event", func() bool { return notices.wind() == nil && len(notices.msgs) >= n+late })
	await(t, "an acknowledgement of every message", w.allAcknowledged)
	if err := notices.wind(); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, msg := range notices.msgs {
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil || out.Kind != "notice" || !out.Final {
			t.Errorf("got %s", msg.Data)
		}
		told[out.Text]++
	}
	for text, times := range told {
		if times != 1 {
			t.Errorf("%q was told %d times", text, times)
		}
	}
	if len(told) != n+late {
		t.Errorf("%d events were told, want %d", len(told), n+late)
	}
	t.Logf("hosts killed %d times; %d events, each told once", kills, len(told))
}
