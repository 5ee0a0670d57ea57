package signing_test

import (
	"errors"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

func openSigner(t *testing.T) (*bus.Bus, *signing.Signer) {
	t.Helper()
	b := bustest.Open(t)
	if _, err := signing.Read(t.Context(), b.JS); !errors.Is(err, records.ErrNotFound) {
		t.Fatalf("before there is a key: %v", err)
	}
	if err := streams.Provision(t.Context(), b.JS, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	s, err := signing.Open(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	return b, s
}

// All hosts have one key, whoever makes it.
func TestSignerIsThatOfTheFleet(t *testing.T) {
	t.Parallel()
	b, first := openSigner(t)
	second, err := signing.Open(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := signing.Read(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg("agent.route.ana")
	first.Sign(msg)
	if !second.Verify(msg.Subject, msg.Header, nil) || !reader.Verify(msg.Subject, msg.Header, nil) {
		t.Error("another host does not know the signature")
	}
	if !first.Predates(time.Now().Add(-time.Minute)) || first.Predates(time.Now().Add(time.Minute)) {
		t.Error("it does not know when the key was made")
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	_, s := openSigner(t)
	signed := func() *nats.Msg {
		msg := &nats.Msg{Subject: "agent.route.ana", Data: []byte(`{"kind":"event"}`)}
		s.Sign(msg)
		return msg
	}
	for name, change := range map[string]func(*nats.Msg){
		"payload":   func(m *nats.Msg) { m.Data = []byte(`{"kind":"result"}`) },
		"subject":   func(m *nats.Msg) { m.Subject = "agent.route.bank" },
		"signature": func(m *nats.Msg) { m.Header.Set(signing.Header, "00") },
		"no hex":    func(m *nats.Msg) { m.Header.Set(signing.Header, "signed") },
		"none":      func(m *nats.Msg) { m.Header = nil },
		"moved":     func(m *nats.Msg) { m.Subject, m.Data = "agent.route.an", append([]byte("a"), m.Data...) },
	} {
		msg := signed()
		if change(msg); s.Verify(msg.Subject, msg.Header, msg.Data) {
			t.Errorf("%s: another one counts as signed", name)
		}
	}
	if msg := signed(); !s.Verify(msg.Subject, msg.Header, msg.Data) {
		t.Error("a signature does not count")
	}
	var no *signing.Signer
	if msg := signed(); no.Verify(msg.Subject, msg.Header, msg.Data) || no.Predates(time.Time{}) {
		t.Error("without a key a signature counts")
	}
	timer := nats.NewMsg("agent.schedule.ana.x")
	timer.Header.Set(jetstream.ScheduleTargetHeader, "agent.route.ana")
	if s.Sign(timer); !s.Verify("agent.route.ana", timer.Header, nil) {
		t.Error("what a timer fires is not signed")
	}
	other := nats.NewMsg("plugin.outbound.web")
	if s.Sign(other); other.Header.Get(signing.Header) != "" {
		t.Error("what is no route message is signed")
	}
}

// What no host has signed is the work of a program, whatever it says.
func TestForeignRoutes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ payload, want string }{
		"an agent":        {`{"kind":"delegate","from":"kate","text":"x","more":1}`, `{"from":"program:kate","kind":"delegate","more":1,"text":"x"}`},
		"a program":       {`{"kind":"delegate","from":"program:kate","text":"x"}`, `{"kind":"delegate","from":"program:kate","text":"x"}`},
		"no name":         {`{"kind":"delegate","text":"x"}`, `{"from":"program:anonymous","kind":"delegate","text":"x"}`},
		"an event":        {`{"kind":"event","from":"sales","text":"x"}`, `{"kind":"event","from":"sales","text":"x"}`},
		"text":            {`hello`, `hello`},
		"a door":          {`{"kind":"event","text":"x","door":"cli"}`, `{"door":"","kind":"event","text":"x"}`},
		"a conversation":  {`{"text":"x","origin":{"agent":"ana","session":"web/dm/ana","subject":"a.b","to":"me"}}`, `{"origin":{"agent":"","session":"","subject":"a.b","to":"me"},"text":"x"}`},
		"a channel":       {`{"text":"x","origin":{"subject":"plugin.outbound.web"}}`, ""},
		"a host's":        {`{"text":"x","origin":{"subject":"agenthost.sessions.delete"}}`, ""},
		"its own subject": {`{"text":"x","origin":{"subject":"a.b","session":"s"}}`, `{"text":"x","origin":{"subject":"a.b","session":"s"}}`},
	} {
		r, err := bus.DecodeRoute([]byte(tt.payload))
		data := []byte(nil)
		if err == nil {
			data, err = r.Foreign([]byte(tt.payload))
		}
		if string(data) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %s, %v", name, data, err)
		}
	}
}
