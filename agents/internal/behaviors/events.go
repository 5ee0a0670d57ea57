package behaviors

import (
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"

	"github.com/nats-io/nats.go"
)

func onEvent(a *inflight.Agent, msg *nats.Msg) {
	b := a.Now().Behavior
	if b == nil { // not any more
		return
	}
	e := agents.Event{Agent: a.ID, Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	_, err := shielded(a.Work, a.Log(), func() (struct{}, error) { return struct{}{}, b.OnEvent(a.Work, e) })
	if err != nil {
		a.Log().Warn().Err(err).Str("subject", msg.Subject).Msg("behavior failed in OnEvent; the event is over")
	}
}

// OnHeartbeat tells a behaviour of a tick of its agent.
func OnHeartbeat(a *inflight.Agent, b agents.Behavior, due time.Time) {
	tick := agents.Tick{Agent: a.ID, At: due}
	_, err := shielded(a.Work, a.Log(), func() (struct{}, error) { return struct{}{}, b.OnHeartbeat(a.Work, tick) })
	if err != nil {
		a.Log().Warn().Err(err).Time("due", due).Msg("behavior failed in OnHeartbeat; the tick is over")
	}
}
