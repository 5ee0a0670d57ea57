// Package inboxtest runs a channel and shows what it has taken, for tests of how a
// platform's messages become envelopes.
package inboxtest

import (
	"context"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go/jetstream"
)

// A Host runs couriers on a NATS of its own.
type Host struct {
	Bus *bus.Bus

	t     testing.TB
	parts plugins.Parts
	taken jetstream.MessagesContext
}

// New opens NATS for accounts of test.one.
func New(t testing.TB) *Host {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, b.Log)
	if err != nil {
		t.Fatal(err)
	}
	background(t, publisher.Run)
	consumer, err := b.JS.CreateConsumer(t.Context(), bus.InboundStream, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(taken.Stop)
	return &Host{Bus: b, t: t, taken: taken, parts: plugins.Parts{
		NC: b.NC, JS: b.JS, Publisher: publisher, Files: filestore.New(b.JS), Reader: records.NewReader(b.JS),
		Host: "host-1", Log: bustest.Log(t), Agents: func() []string { return nil },
	}}
}

// Courier is one for an account, which does not run.
func (h *Host) Courier(ch plugins.Channel, s settings.Account) *plugins.Courier {
	return plugins.New(plugins.Account{Channel: "test", Instance: "one", Settings: s}, ch, h.parts)
}

// Start runs a channel, and waits until its account is in a state. It runs until stop
// is called or the test ends.
func (h *Host) Start(ch plugins.Channel, s settings.Account, state string) (c *plugins.Courier, stop func()) {
	h.t.Helper()
	c = h.Courier(ch, s)
	stop = background(h.t, c.Run)
	bustest.Eventually(h.t, "the account is "+state, func() bool { return c.Status().State == state })
	return c, stop
}

// Next is the next envelope that was taken.
func (h *Host) Next() bus.Inbound {
	h.t.Helper()
	msg, err := h.taken.Next()
	if err != nil {
		h.t.Fatal(err)
	}
	in, err := bus.DecodeInbound(msg.Data())
	if err != nil {
		h.t.Fatal(err)
	}
	return in
}

// File is the content of a file that was taken.
func (h *Host) File(m bus.Media) string {
	h.t.Helper()
	data, err := h.parts.Files.Get(h.t.Context(), m.Object)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

func background(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}
