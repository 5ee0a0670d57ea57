package main

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/signing"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A host leaves a canary whose sender waits no more, who would not delete its session.
func TestLateCanary(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	dir := configured(t, `nats: {url: "`+url+`"}
http: {listen: 127.0.0.1:0}
models: {main: {provider: echo}}
agents: [{id: ana}]
`)
	startHostIn(t, dir, nil, "--name", "red").until(t, "ready")
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signing.Read(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	replies, err := nc.SubscribeSync(bus.OutboundPrefix + bus.DoorProbe)
	if err != nil {
		t.Fatal(err)
	}
	for id, within := range map[string]time.Duration{"late": time.Nanosecond, "timely": time.Minute} {
		msg, err := bus.NewMessage(bus.InboundPrefix+bus.DoorProbe, bus.Inbound{
			ID: id, From: "agenthost", Conversation: id, Agent: "ana", Text: "x", Meta: map[string]any{bus.CanaryWithin: within.String()},
		})
		if err != nil {
			t.Fatal(err)
		}
		msg.Header.Set(signing.Header, signer.Signature(msg.Subject, msg.Data))
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	if out, _ := call(t, 0, "", "probe", "ana", "-s", url); t.Failed() { // it comes after both
		t.Log(out)
	}
	answered := map[string]bool{}
	for len(answered) < 2 {
		msg, err := replies.NextMsgWithContext(bustest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			t.Fatal(err)
		}
		answered[out.InReplyTo] = true
	}
	sid := session.SID("ana", session.DM(bus.DoorProbe, "", "late"))
	sessions, err := js.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.GetLastMsgForSubject(t.Context(), session.Subject("ana", sid)); err == nil || answered["late"] || !answered["timely"] {
		t.Errorf("answered: got %v, want the timely and the last; a session of the late one: %v", answered, err == nil)
	}
}
