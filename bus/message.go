package bus

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
)

// HandedOnHeader holds what a message was before a host handed it on to a partition.
const HandedOnHeader = "Agent-Handed-On"

// SessionKeyHeader names the session whose run a message is of, or for.
const SessionKeyHeader = "Agent-Session-Key"

// AddresseeHeader names the agent that a message on a channel is for alone, as the field agent
// of its envelope does, and goes before that: a message that cannot be read has no fields.
const AddresseeHeader = "Agent-For"

// NewMessage is a message that holds v as JSON, with its content type.
func NewMessage(subject string, v any) (*nats.Msg, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &nats.Msg{Subject: subject, Header: Header("Content-Type", "application/json"), Data: data}, nil
}

// Header is a header of names and their values, in turns. With one array for all
// values it costs less than to set one after the other.
func Header(pairs ...string) nats.Header {
	h := make(nats.Header, len(pairs)/2)
	values := make([]string, len(pairs)/2)
	for i := range values {
		values[i] = pairs[2*i+1]
		h[pairs[2*i]] = values[i : i+1 : i+1]
	}
	return h
}
