package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// subscriber is the demo configuration with an agent that is told of events.
func subscriber(t *testing.T, events ...heartbeat.Event) *config.Config {
	t.Helper()
	cfg := scripted(t, "rules: [{when: broken, error: {status: 400, message: no}}, {text: \"${text}\"}]")
	for i := range events {
		events[i].To = heartbeat.Address{Channel: "demo", Chat: "7"}
	}
	cfg.Agents[0].Events = events
	return cfg
}

func keep(t *testing.T, js jetstream.JetStream, name string, subjects ...string) jetstream.Stream {
	t.Helper()
	s, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: name, Subjects: subjects})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// consumers are those of events on a stream.
func consumers(t *testing.T, s jetstream.Stream) []string {
	t.Helper()
	var names []string
	list := s.ConsumerNames(context.Background())
	for name := range list.Name() {
		if strings.HasPrefix(name, "agenthost-event-") {
			names = append(names, name)
		}
	}
	return names
}

// reading is how many consumers of events are read from.
func reading(t *testing.T, s jetstream.Stream) int {
	t.Helper()
	n := 0
	for info := range s.ListConsumers(context.Background()).Info() {
		if strings.HasPrefix(info.Name, "agenthost-event-") && info.NumWaiting > 0 {
			n++
		}
	}
	return n
}

func TestEventOfAStream(t *testing.T) {
	t.Parallel()
	cfg := subscriber(t, heartbeat.Event{Subject: "orders.created.>", Prompt: "Order ${id} of ${by.name} on ${subject.2}"})
	h, stop := start(t, cfg)
	s := keep(t, h.Bus().JS, "ORDERS", "orders.>")
	waittest.Until(t, "the consumer", func() bool { return reading(t, s) == 1 })
	out := outbound(t, h.Bus().NC, 2)
	for _, shop := range []string{"paris", "lyon"} {
		if _, err := h.Bus().JS.Publish(context.Background(), "orders.created."+shop, []byte(`{"id":7,"by":{"name":"Ana"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range out() {
		want := "Order 7 of Ana on " + strings.TrimPrefix(r.Session, "event/orders.created.")
		if r.Kind != "notice" || !r.Final || r.Text != want || r.Chat != "7" {
			t.Errorf("got %+v, want %q", r, want)
		}
	}
	stop()

	// Another life of the host goes on where this one was.
	h, _ = start(t, cfg)
	out = outbound(t, h.Bus().NC, 1)
	if _, err := h.Bus().JS.Publish(context.Background(), "orders.created.nice", []byte(`{"id":8}`)); err != nil {
		t.Fatal(err)
	}
	if r := out()[0]; r.Text != "Order 8 of  on nice" {
		t.Errorf("got %+v", r)
	}
	waittest.Until(t, "three notices", func() bool { return stored(t, h, bus.OutboundStream) == 3 })
}

func TestEventOfNoStream(t *testing.T) {
	t.Parallel()
	h, _ := start(t, subscriber(t, heartbeat.Event{Subject: "alarm", Prompt: "${payload}"}))
	out := outbound(t, h.Bus().NC, 1)
	if err := h.Bus().NC.Publish("alarm", []byte("fire")); err != nil {
		t.Fatal(err)
	}
	if r := out()[0]; r.Kind != "notice" || r.Text != "fire" || r.Session != "event/alarm" {
		t.Errorf("got %+v", r)
	}
}

// Two agents, and two subscriptions of one, are each told of the same message.
func TestEventOfSeveral(t *testing.T) {
	t.Parallel()
	cfg := subscriber(t, heartbeat.Event{Subject: "orders.>", Prompt: "all"}, heartbeat.Event{Subject: "orders.*", Prompt: "some"})
	second := cfg.Agents[0]
	second.ID, second.Channels = "second", nil
	cfg.Agents = append(cfg.Agents, second)
	h, _ := start(t, cfg)
	s := keep(t, h.Bus().JS, "ORDERS", "orders.>")
	waittest.Until(t, "the consumers", func() bool { return reading(t, s) == 4 })
	out := outbound(t, h.Bus().NC, 4)
	if _, err := h.Bus().JS.Publish(context.Background(), "orders.new", nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range out() {
		got[r.Agent+" "+r.Text]++
	}
	if len(got) != 4 {
		t.Errorf("got %v", got)
	}
}

// A stream that counts from 1 again is not taken for the one before.
func TestEventOfAStreamMadeAnew(t *testing.T) {
	t.Parallel()
	h, _ := start(t, subscriber(t, heartbeat.Event{Subject: "orders.>", Prompt: "${payload}"}))
	ctx, js := context.Background(), h.Bus().JS
	for _, text := range []string{"first", "second"} {
		s := keep(t, js, "ORDERS", "orders.>")
		waittest.Until(t, "the consumer", func() bool { return reading(t, s) == 1 })
		out := outbound(t, h.Bus().NC, 1)
		if _, err := js.Publish(ctx, "orders.new", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if r := out()[0]; r.Text != text {
			t.Errorf("got %q, want %q", r.Text, text)
		}
		if err := js.DeleteStream(ctx, "ORDERS"); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "core NATS again", func() bool {
		if err := h.Bus().NC.Publish("orders.new", []byte("third")); err != nil {
			t.Fatal(err)
		}
		return stored(t, h, bus.OutboundStream) > 2
	})
}

func TestEventConsumerGoesWithItsConfiguration(t *testing.T) {
	t.Parallel()
	cfg := subscriber(t, heartbeat.Event{Subject: "orders.>", Prompt: "a"}, heartbeat.Event{Subject: "orders.new", Prompt: "b"})
	h, stop := start(t, cfg)
	s := keep(t, h.Bus().JS, "ORDERS", "orders.>")
	waittest.Until(t, "two consumers", func() bool { return len(consumers(t, s)) == 2 })
	stop()
	cfg.Agents[0].Events = cfg.Agents[0].Events[:1]
	h, _ = start(t, cfg)
	s, err := h.Bus().JS.Stream(context.Background(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "one consumer", func() bool { return len(consumers(t, s)) == 1 })
}

// An agent that is told of dead letters is not told of its own, nor of those
// that came about through it.
func TestEventLoopEnds(t *testing.T) {
	t.Parallel()
	cfg := subscriber(t, heartbeat.Event{Subject: "agent.events.*.dead", Prompt: "dead: ${agent} ${reason}"}, heartbeat.Event{Subject: "loop.>", Prompt: "${payload}"})
	second := cfg.Agents[0]
	second.ID, second.Channels, second.Events = "second", []agents.Binding{{Channel: "second"}}, nil
	cfg.Agents = append(cfg.Agents, second)
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	waittest.Until(t, "the consumer", func() bool {
		s, err := h.Bus().JS.Stream(context.Background(), bus.EventsStream)
		return err == nil && len(consumers(t, s)) == 1
	})
	out := outbound(t, nc, 3)
	publishIn := func(subject string, chain ...string) {
		msg := nats.NewMsg(subject)
		msg.Data = []byte(strings.Join(chain, " ") + "!")
		bus.SetChain(msg.Header, chain)
		if err := nc.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(nc.Publish("plugin.inbound.demo", []byte("{")), nc.Publish("plugin.inbound.second", []byte("{"))); err != nil {
		t.Fatal(err)
	}
	publishIn("loop.a", "demo")
	publishIn("loop.a", "second", "demo", "third")
	publishIn("loop.a", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9")
	publishIn("loop.a", "second")
	publishIn("loop.b")
	got := map[string]bool{}
	for _, r := range out() {
		got[r.Text] = true
	}
	for _, want := range []string{"dead: second malformed message: its JSON ends too early", "second!", "!"} {
		if !got[want] {
			t.Errorf("nobody said %q, but %v", want, got)
		}
	}
}

// Two hosts share the events of a subject that no stream keeps.
func TestEventOfTwoHosts(t *testing.T) {
	t.Parallel()
	cfg := subscriber(t, heartbeat.Event{Subject: "alarm", Prompt: "${payload}"}, heartbeat.Event{Subject: "orders.>", Prompt: "${payload}"})
	port := "127.0.0.1:0"
	cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Anonymous = &port, bus.AnonymousAll
	h := startWith(t, host.Options{Config: cfg, Log: bustest.Log(t), Name: "a"})
	s := keep(t, h.Bus().JS, "ORDERS", "orders.>")
	other := *cfg
	other.NATS = bus.Config{URL: h.URL(), Embedded: bus.Embedded{Store: t.TempDir()}}
	startWith(t, host.Options{Config: &other, Log: bustest.Log(t), Name: "b"})
	waittest.Until(t, "the consumer", func() bool { return reading(t, s) == 1 })
	out := outbound(t, h.Bus().NC, 40)
	for i := range 20 {
		if err := h.Bus().NC.Publish("alarm", fmt.Append(nil, "alarm ", i)); err != nil {
			t.Fatal(err)
		}
		if err := h.Bus().NC.Publish("orders.new", fmt.Append(nil, "order ", i)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for _, r := range out() {
		got[r.Text]++
	}
	if len(got) != 40 {
		t.Errorf("%d of 40 were told", len(got))
	}
}

// The route message of an event carries what is known of the way it came.
func TestEventRoute(t *testing.T) {
	t.Parallel()
	h, _ := start(t, subscriber(t, heartbeat.Event{Subject: "alarm", Prompt: "${payload}"}))
	sub, err := h.Bus().NC.SubscribeSync("agent.route.demo")
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg("alarm")
	msg.Data = []byte("fire")
	msg.Header.Set("traceparent", "00-1-2-01")
	bus.SetChain(msg.Header, []string{"bob"})
	if err := h.Bus().NC.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	got, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := bus.Route{}
	if err := json.Unmarshal(got.Data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Kind != "event" || r.From != "alarm" || r.Text != "fire" || len(r.Chain) != 1 || r.Chain[0] != "bob" || r.ID == "" ||
		got.Header.Get("traceparent") != "00-1-2-01" || r.Origin.Subject != "plugin.outbound.demo" {
		t.Errorf("got %s %v", got.Data, got.Header)
	}
}
