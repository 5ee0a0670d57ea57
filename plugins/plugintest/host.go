package plugintest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Host serves one account without an agent, for the tests of what only one channel
// has.
type Host struct {
	t       testing.TB
	bus     *bus.Bus
	parts   plugins.Parts
	account settings.Account
	Courier *plugins.Courier
	Stop    func()

	mu    sync.Mutex
	heard []bus.Inbound
	sent  int
}

// NewHost starts NATS and a host with a channel, and waits until it is connected.
func NewHost(t testing.TB, ch plugins.Channel, account settings.Account) *Host {
	t.Helper()
	h := &Host{t: t, bus: bustest.Open(t), account: account}
	bustest.Provision(t, h.bus.JS)
	h.parts = plugins.Parts{
		NC: h.bus.NC, JS: h.bus.JS, Publisher: startPublisher(t, h.bus), Files: filestore.New(h.bus.JS), Reader: records.NewReader(h.bus.JS),
		Host: "host-1", Log: bustest.Log(t), Agents: func() []string { return []string{agentID} },
	}
	h.listen()
	h.Start(ch)
	bustest.Eventually(t, "the account is connected", func() bool { return h.Courier.Status().State == plugins.StateConnected })
	return h
}

// Start starts a host with another channel on the same account.
func (h *Host) Start(ch plugins.Channel) {
	h.Courier = plugins.New(plugins.Account{Channel: channel, Instance: instance, Settings: h.account}, ch, h.parts)
	h.Stop = background(h.t, h.Courier.Run)
}

func (h *Host) listen() {
	consumer, err := h.bus.JS.CreateConsumer(h.t.Context(), bus.InboundStream, jetstream.ConsumerConfig{
		FilterSubject: bus.InboundPrefix + account, AckPolicy: jetstream.AckNonePolicy,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		in, err := bus.DecodeInbound(m.Data())
		if err != nil {
			h.t.Errorf("the channel published %s: %v", m.Data(), err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard = append(h.heard, in)
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { consuming.Stop(); <-consuming.Closed() })
}

// Inbound waits for n messages and returns all that came.
func (h *Host) Inbound(n int) []bus.Inbound {
	h.t.Helper()
	all := func() []bus.Inbound {
		h.mu.Lock()
		defer h.mu.Unlock()
		return append([]bus.Inbound(nil), h.heard...)
	}
	bustest.Eventually(h.t, fmt.Sprintf("%d messages of people", n), func() bool { return len(all()) >= n })
	return all()
}

// File is what is stored under the name of an object.
func (h *Host) File(object string) []byte {
	h.t.Helper()
	data, err := h.parts.Files.Get(h.t.Context(), object)
	if err != nil {
		h.t.Fatal(err)
	}
	return data
}

// Send publishes a reply of the agent.
func (h *Host) Send(out bus.Outbound) {
	h.t.Helper()
	h.mu.Lock()
	h.sent++
	out.Run = fmt.Sprintf("run%d", h.sent)
	h.mu.Unlock()
	out.ID, out.Agent, out.Session, out.SentAt = out.Run+".1", agentID, "k", time.Now().UTC()
	if out.Kind == "" {
		out.Kind, out.Final = bus.KindReply, true
	}
	data, err := json.Marshal(out)
	if err != nil {
		h.t.Fatal(err)
	}
	msg := nats.NewMsg(bus.OutboundPrefix + account)
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, out.ID)
	if _, err := h.bus.JS.PublishMsg(h.t.Context(), msg); err != nil {
		h.t.Fatal(err)
	}
}
