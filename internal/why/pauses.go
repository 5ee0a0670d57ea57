package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/pause"

	"github.com/nats-io/nats.go/jetstream"
)

// A turn is what a message waits for: to be taken by an agent, empty where that is not known yet.
type turn struct {
	agent, subject string
	since          time.Time
}

// channel is the channel by which it came, or none.
func (t turn) channel() string {
	channel, ok := strings.CutPrefix(t.subject, bus.InboundPrefix)
	if !ok {
		return ""
	}
	return channel
}

// lookAtPauses adds the pauses that keep a message from its turn. It is the last look.
func (s *search) lookAtPauses(ctx context.Context) error {
	if len(s.turns) == 0 || s.way.State != Waiting {
		return nil
	}
	list, err := pause.NewStore(s.js).List(ctx)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read pauses: %w", err)
	}
	for _, t := range s.turns {
		for _, p := range list {
			if !p.Holds(t.agent, t.channel()) {
				continue
			}
			at := t.since
			if p.Since.After(at) {
				at = p.Since
			}
			s.add(Step{
				At: at, What: Paused, Agent: t.agent, Name: p.String(),
				Detail: fmt.Sprintf("%s; \"agenthost resume %s\" ends it", p.Words(), p.Argument()),
			})
		}
	}
	return nil
}

// agentIn is the agent that a message is for alone, as far as it says so itself.
func agentIn(rec records.Record) string {
	if agent, ok := strings.CutPrefix(rec.Subject, bus.RoutePrefix); ok {
		return agent
	}
	m := struct {
		Agent string `json:"agent"`
	}{}
	_ = bus.ReadFields(rec.Data, &m) // what is no object has none
	return cmp.Or(rec.Header.Get(bus.AddresseeHeader), m.Agent)
}
