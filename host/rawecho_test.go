package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// rawEcho is what a durable echo costs without an agent: a message is pulled,
// answered in a second stream and acknowledged once that has the answer. It is
// what the host is measured against, on the same machine at the same time.
func rawEcho(b *testing.B, cfg bus.Config) *nats.Conn {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	opened, err := natsserver.Open(ctx, bus.Options{Name: "raw", Config: cfg})
	if err != nil {
		b.Fatal(err)
	}
	fault := func(err error) {
		if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			b.Error(err)
		}
	}
	var acks sync.Map
	js, err := jetstream.New(opened.NC,
		jetstream.WithPublishAsyncMaxPending(1<<20),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, _ *jetstream.PubAck) {
			in, _ := acks.LoadAndDelete(m)
			fault(in.(jetstream.Msg).Ack())
		}),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { fault(err) }),
	)
	fault(err)
	for name, subject := range map[string]string{bus.InboundStream: "plugin.inbound.>", bus.OutboundStream: "plugin.outbound.>"} {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Duplicates: bus.DedupeWindow})
		fault(err)
	}
	consumer, err := js.CreateConsumer(ctx, bus.InboundStream, jetstream.ConsumerConfig{
		Durable: "raw", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 32768,
	})
	if err != nil {
		b.Fatal(err)
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		in := bus.Inbound{}
		fault(json.Unmarshal(m.Data(), &in))
		out := nats.NewMsg("plugin.outbound.demo")
		out.Data, err = json.Marshal(bus.Outbound{InReplyTo: in.ID, To: in.From, Text: in.Text, Final: true})
		fault(err)
		out.Header.Set(nats.MsgIdHdr, in.ID)
		acks.Store(out, m)
		_, err := js.PublishMsgAsync(out)
		fault(err)
	}, jetstream.PullMaxMessages(256))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		<-js.PublishAsyncComplete()
		consuming.Stop()
		cancel()
		opened.Close()
	})
	return opened.NC
}
