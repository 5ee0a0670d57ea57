package lanes

import (
	"context"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go"
)

// A Message is for an agent that no host of the fleet serves.
type Message struct {
	Agent   string
	Subject string
	Seq     uint64
	Stored  time.Time
	Header  nats.Header
	Data    []byte
	Named   string // the agent that it names, where that is not bound to its channel
}

// Unbound is in the place of an agent where none was ever bound to a channel, as far
// as is known.
const Unbound = bus.Unbound

// endWithin bounds what is asked before a message is ended.
const endWithin = 10 * time.Second

// messageOf is a message that a lane has brought.
func messageOf(agent string, d *delivery.Delivery) Message {
	return Message{Agent: agent, Subject: d.Subject, Seq: d.Seq, Stored: d.Stored, Header: ownHeader(d.Header()), Data: d.Data()}
}

// Served is what the hosts of a fleet serve.
type Served struct {
	Hosts  int // that have answered
	Agents []string
}

func (s Served) has(agent string) bool { return slices.Contains(s.Agents, agent) }

// served is what the hosts of the fleet serve, this one included.
func (s *Set) served(ctx context.Context) (Served, error) {
	all, err := s.Ender.Served(ctx)
	if err != nil {
		return all, err
	}
	for _, a := range s.Agents() {
		all.Agents = append(all.Agents, a.ID())
	}
	return all, nil
}
