package why

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/run"
)

// owners are the takeovers of an agent's lanes, oldest first, as long as AGENT_EVENTS
// keeps them. A host that has only started may stand by while another one serves.
type owners []takeover

type takeover struct {
	Host   string    `json:"host"`
	Stream string    `json:"stream"`
	Lane   string    `json:"lane"`
	At     time.Time `json:"at"`
}

func (s *search) ownersOf(ctx context.Context, agent string) (owners, error) {
	var list owners
	for rec, err := range s.reader.Tail(ctx, bus.EventsStream, bus.EventsPrefix+agent+".takeover", 1) {
		if err != nil {
			return nil, absent(err)
		}
		event := takeover{At: rec.Time}
		if json.Unmarshal(rec.Data, &event) == nil {
			list = append(list, event)
		}
	}
	return list, nil
}

// of is the host that has begun a run; empty: no takeover before it is kept, or the agent
// is divided, and its partitions may be anywhere.
func (o owners) of(started run.Event) string {
	stream := "" // any: a host resumes a run whichever lane of the agent it took first
	if len(started.Inputs) > 0 && started.Attempt <= 1 {
		stream = streamOf(started.Inputs[0].Subject)
	}
	host := ""
	for _, event := range o {
		if strings.HasPrefix(event.Lane, "part-") {
			return ""
		}
		if !event.At.After(started.At) && (stream == "" || event.Stream == stream) {
			host = event.Host
		}
	}
	return host
}
