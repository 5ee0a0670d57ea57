package bus

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
)

// A DeadLetter is what is published on agent.dead.<agent> for a message that
// could not be handled: why, where it is from, and the message itself.
type DeadLetter struct {
	ID       string      `json:"id"`
	Agent    string      `json:"agent"`
	Reason   string      `json:"reason"`
	Code     string      `json:"code"`
	Subject  string      `json:"subject"`
	Stream   string      `json:"stream"`
	Seq      uint64      `json:"seq"`
	Attempts int         `json:"attempts,omitempty"`
	Host     string      `json:"host"`
	At       time.Time   `json:"at"`
	Header   nats.Header `json:"header,omitempty"`
	// Payload is the message when it is text, Base64 when it is not. Both are
	// empty when Omitted: it is too large, and only its stream still has it.
	Payload string `json:"payload,omitempty"`
	Base64  []byte `json:"payload_base64,omitempty"`
	Omitted bool   `json:"omitted,omitempty"`
}

// Unbound is in the place of the agent of a dead letter, where no agent was ever bound to a
// channel, as far as is known.
const Unbound = "unbound"

// DeadSubject is where the dead letters of an agent go.
func DeadSubject(agent string) string { return "agent.dead." + agent }

// UnpublishedID is the id of the dead letter of a reply that could not be published.
func UnpublishedID(reply string) string { return "dead:" + reply }

// longestReason bounds the reason in a dead letter: it may be in the words of another program.
const longestReason = 4 << 10

// SetPayload puts the message in, unless the JSON of the letter would not fit
// into limit; then its headers are left out too. It comes after all else is set.
func (l *DeadLetter) SetPayload(data []byte, limit int) {
	l.Reason = clipTo(l.Reason, longestReason)
	if utf8.Valid(data) {
		l.Payload = string(data)
	} else {
		l.Base64 = data
	}
	if body, err := json.Marshal(l); err != nil || len(body) > limit {
		l.Omit()
	}
}

// Omit leaves out the message and its headers.
func (l *DeadLetter) Omit() { l.Payload, l.Base64, l.Header, l.Omitted = "", nil, nil, true }

// Data is the message, whichever way it was put in.
func (l *DeadLetter) Data() []byte {
	if l.Base64 != nil {
		return l.Base64
	}
	return []byte(l.Payload)
}

// Message is the dead letter as it is published. The same message of the same
// agent is one dead letter, however often it dies.
func (l *DeadLetter) Message() (*nats.Msg, error) {
	if l.ID == "" {
		l.ID = "dead:" + l.Agent + ":" + l.Stream + ":" + strconv.FormatUint(l.Seq, 10)
	}
	msg, err := NewMessage(DeadSubject(l.Agent), l)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, l.ID)
	msg.Header.Set("Agent-Dead-Code", l.Code)
	return msg, nil
}
