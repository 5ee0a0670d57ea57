package bus_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestDeadLetterPayload(t *testing.T) {
	t.Parallel()
	const limit = 1000
	tests := map[string]struct {
		data    string
		field   string // of the JSON that holds it
		omitted bool
	}{
		"text":                         {"hello", `"payload":"hello"`, false},
		"nothing":                      {"", "", false},
		"JSON":                         {`{"text":"x"}`, `"payload":"{\"text\":\"x\"}"`, false},
		"binary":                       {"\xff\x00", `"payload_base64":"/wA="`, false},
		"as much as fits":              {strings.Repeat("x", 700), `"payload":"xxx`, false},
		"text too large":               {strings.Repeat("x", limit), "", true},
		"binary too large":             {strings.Repeat("\xff", 800), "", true},
		"small text that grows a deal": {strings.Repeat("\x01", 200), "", true},
		"markup that grows a deal":     {strings.Repeat("<", 200), "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := bus.DeadLetter{Agent: "ana", Reason: "r", Stream: "S", Seq: 1}
			l.SetPayload([]byte(tt.data), limit)
			msg, err := l.Message()
			if err != nil {
				t.Fatal(err)
			}
			body := string(msg.Data)
			if !strings.Contains(body, tt.field) || l.Omitted != tt.omitted || strings.Contains(body, `"omitted":true`) != tt.omitted {
				t.Errorf("got %s, want it to say %s, omitted %t", body, tt.field, tt.omitted)
			}
			if len(body) > limit+50 { // the id comes with Message
				t.Errorf("got %d bytes, want %d at most", len(body), limit)
			}
			back := bus.DeadLetter{}
			if err := json.Unmarshal(msg.Data, &back); err != nil {
				t.Fatal(err)
			}
			if want := tt.data; !tt.omitted && string(back.Data()) != want {
				t.Errorf("data: got %q, want %q", back.Data(), want)
			}
		})
	}
}

func TestDeadLetterWithEndlessHeaders(t *testing.T) {
	t.Parallel()
	l := bus.DeadLetter{Agent: "ana", Header: nats.Header{"X": {strings.Repeat("x", 2000)}}}
	l.SetPayload([]byte("hello"), 1000)
	if msg, err := l.Message(); err != nil || len(msg.Data) > 1000 || !l.Omitted {
		t.Errorf("got %s, %v, want it without headers", msg.Data, err)
	}
}

func TestDeadLetterMessage(t *testing.T) {
	t.Parallel()
	l := bus.DeadLetter{Agent: "ana", Code: "internal", Stream: "AGENT_INBOUND", Seq: 12, Attempts: 5}
	msg, err := l.Message()
	if err != nil {
		t.Fatal(err)
	}
	want := nats.Header{
		"Nats-Msg-Id": {"dead:ana:AGENT_INBOUND:12"}, "Content-Type": {"application/json"}, "Agent-Dead-Code": {"internal"},
	}
	if diff := cmp.Diff(want, msg.Header); diff != "" || msg.Subject != "agent.dead.ana" {
		t.Errorf("subject %s, headers %s", msg.Subject, diff)
	}
	l.ID = "dead:reply"
	if msg, err := l.Message(); err != nil || msg.Header.Get(nats.MsgIdHdr) != "dead:reply" {
		t.Errorf("an id of its own: got %v, %v", msg.Header, err)
	}
}

// However often a message dies, there is one letter.
func TestDeadLetterIsOne(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for _, l := range []bus.DeadLetter{
		{Agent: "ana", Stream: "S", Seq: 1, Host: "one"},
		{Agent: "ana", Stream: "S", Seq: 1, Host: "two"},
		{Agent: "bob", Stream: "S", Seq: 1},
		{Agent: "ana", Stream: "S", Seq: 2},
	} {
		msg, err := l.Message()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.JS.Stream(t.Context(), bus.DeadStream)
	if err != nil || s.CachedInfo().State.Msgs != 3 {
		t.Errorf("got %d letters, %v, want 3", s.CachedInfo().State.Msgs, err)
	}
}
