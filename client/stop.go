package client

import (
	"cmp"
	"errors"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// A Stop is the order to end the run of a session, whether it is under way or
// waits for a person.
type Stop struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key, such as web/dm/7
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"` // shown to the person
	Door    string `json:"-"`                // by which way it is given; empty: bus.DoorAPI
}

// Message is the message with the order for the agent, to be signed by a
// signing.Signer. The host publishes on replyTo, when it is not empty, what has become
// of it.
func (s Stop) Message(replyTo string) (*nats.Msg, error) {
	if s.Session == "" {
		return nil, errors.New("stop a run: no session is named")
	}
	msg, err := agents.StopMessageBy(cmp.Or(s.Door, bus.DoorAPI), s.Agent, session.Key(s.Session), s.By, s.Reason, replyTo)
	return checked(msg, err)
}
