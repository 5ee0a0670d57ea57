package probe_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/signing"
	"agenthost/client"
	"agenthost/internal/probe"
)

// fleet is a NATS server on which a host is said to serve an agent.
func fleet(t *testing.T) (*bus.Bus, *client.Client, client.Fleet) {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	if _, err := signing.Open(t.Context(), b.JS); err != nil {
		t.Fatal(err)
	}
	hosts := client.Fleet{}
	if err := json.Unmarshal([]byte(`[{"host":"red","state":"ready","agents":[{"id":"ana","state":"ready"}]}]`), &hosts); err != nil {
		t.Fatal(err)
	}
	return b, client.New(b.JS.Conn(), b.JS, client.Options{}), hosts
}

// A canary that no host takes in time is taken back: one that comes to it later would leave
// a session that is not deleted.
func TestRunTakesBackWhatIsNotAnswered(t *testing.T) {
	t.Parallel()
	b, c, hosts := fleet(t)
	for within, missing := range map[time.Duration]string{50 * time.Millisecond: probe.Begun, time.Nanosecond: probe.Stored} {
		r, err := probe.Run(t.Context(), c, hosts, "ana", within)
		if err != nil || r.OK || r.Missing != missing || r.Reason == "" {
			t.Errorf("within %s: got %+v, %v, want %s missing", within, r, err, missing)
		}
	}
	stream, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != 0 || state.LastSeq == 0 {
		t.Errorf("canaries: got %d of %d left, want 0 of 1", state.Msgs, state.LastSeq)
	}
	kv, err := b.JS.KeyValue(t.Context(), bus.RequestsBucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := kv.Keys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Errorf("got the records %q, %v, want one for the session of each canary: the next host does not begin with it", keys, err)
	}
}

// A reply that comes to who listens before it is stored is waited for, and the canary is not
// taken back.
func TestReplyIsReceivedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	b, c, hosts := fleet(t)
	nc := b.JS.Conn()
	reply := make(chan []byte, 1)
	subscribe(t, nc, bus.InboundPrefix+bus.DoorProbe, func(msg *nats.Msg) {
		var in bus.Inbound
		_ = json.Unmarshal(msg.Data, &in)
		data, _ := json.Marshal(bus.Outbound{ID: "r1", Agent: "ana", InReplyTo: in.ID, Final: true, Text: "canary"})
		reply <- data
		refused := nats.NewMsg(bus.OutboundPrefix + bus.DoorProbe)
		refused.Data = data
		refused.Header.Set(jetstream.ExpectedLastSeqHeader, "999") // it is sent, but not stored
		_ = nc.PublishMsg(refused)
	})
	subscribe(t, nc, "$JS.API.DIRECT.GET."+bus.OutboundStream, func(*nats.Msg) { // it is looked for
		select {
		case data := <-reply:
			_ = nc.Publish(bus.OutboundPrefix+bus.DoorProbe, data)
		default:
		}
	})
	r, err := probe.Run(t.Context(), c, hosts, "ana", time.Minute)
	if err != nil || r.Missing != probe.Begun { // no run: there is no host
		t.Errorf("got %+v, %v", r, err)
	}
	stream, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != 1 {
		t.Errorf("canaries: got %d left, want 1: it is answered", state.Msgs)
	}
}

func subscribe(t *testing.T, nc *nats.Conn, subject string, handle nats.MsgHandler) {
	t.Helper()
	if _, err := nc.Subscribe(subject, handle); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
