package bus

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
)

// SessionKeyHeader names the session whose run a message is of, or for.
const SessionKeyHeader = "Agent-Session-Key"

// NewMessage is a message that holds v as JSON, and tells so.
func NewMessage(subject string, v any) (*nats.Msg, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header["Content-Type"] = []string{"application/json"}
	return msg, nil
}
