package agents

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// listen brings the behaviour of the agent what is published on its topics, to
// one host of the fleet each, one event of a topic after the other, until ctx
// ends.
func (r *Runtime) listen(ctx context.Context) {
	if r.behavior == nil {
		return
	}
	for _, topic := range r.behavior.Topics() {
		events := make(chan *nats.Msg, pendingEvents)
		sub, err := r.parts.NC.ChanQueueSubscribe(topic, "agent."+r.id, events)
		if err != nil {
			r.log.Error().Err(err).Str("topic", topic).Msg("behavior cannot hear of a topic; want a NATS subject")
			continue
		}
		r.busy.Go(func() {
			r.hear(ctx, events)
			_ = sub.Unsubscribe() // the connection may be gone
		})
	}
}

func (r *Runtime) hear(ctx context.Context, events <-chan *nats.Msg) {
	for {
		select {
		case msg := <-events:
			r.onEvent(msg)
		case <-ctx.Done():
			return
		}
	}
}

// pendingEvents is how many events of a topic wait; NATS drops more.
const pendingEvents = 1024

func (r *Runtime) onEvent(msg *nats.Msg) {
	e := Event{Agent: r.id, Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	_, err := shielded(r.work, &r.log, func() (struct{}, error) { return struct{}{}, r.behavior.OnEvent(r.work, e) })
	if err != nil {
		r.log.Warn().Err(err).Str("subject", msg.Subject).Msg("behavior failed in OnEvent; the event is over")
	}
}

func (r *Runtime) onHeartbeat(due time.Time) {
	tick := Tick{Agent: r.id, At: due}
	_, err := shielded(r.work, &r.log, func() (struct{}, error) { return struct{}{}, r.behavior.OnHeartbeat(r.work, tick) })
	if err != nil {
		r.log.Warn().Err(err).Time("due", due).Msg("behavior failed in OnHeartbeat; the tick is over")
	}
}
