package agents

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ears bring the behaviour of an agent what is published on its topics, to one
// host of the fleet each, one event of a topic after the other.
type ears struct {
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // until it ends they listen; nil: not yet
	deaf map[string]context.CancelFunc
}

// open listens until ctx ends.
func (e *ears) open(ctx context.Context, r *Runtime) {
	e.mu.Lock()
	e.ctx, e.deaf = ctx, map[string]context.CancelFunc{}
	e.mu.Unlock()
	e.listen(r)
}

// listen goes over to the topics of the behaviour that there is by now.
func (e *ears) listen(r *Runtime) {
	var topics []string
	if b := r.now().behavior; b != nil {
		topics = b.Topics()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.ctx.Err() != nil {
		return
	}
	for topic, end := range e.deaf {
		if !slices.Contains(topics, topic) {
			end()
			delete(e.deaf, topic)
		}
	}
	for _, topic := range topics {
		if e.deaf[topic] == nil {
			e.hear(r, topic)
		}
	}
}

func (e *ears) hear(r *Runtime, topic string) {
	events := make(chan *nats.Msg, pendingEvents)
	sub, err := r.parts.NC.ChanQueueSubscribe(topic, "agent."+r.id, events)
	if err != nil {
		r.log().Error().Err(err).Str("topic", topic).Msg("behavior cannot hear of a topic; want a NATS subject")
		return
	}
	ctx, end := context.WithCancel(e.ctx)
	e.deaf[topic] = end
	r.busy.Go(func() {
		r.hear(ctx, events)
		_ = sub.Unsubscribe() // the connection may be gone
	})
}

// close makes sure that nothing more is listened for.
func (e *ears) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, end := range e.deaf {
		end()
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
	b := r.now().behavior
	if b == nil { // not any more
		return
	}
	e := Event{Agent: r.id, Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	_, err := shielded(r.work, r.log(), func() (struct{}, error) { return struct{}{}, b.OnEvent(r.work, e) })
	if err != nil {
		r.log().Warn().Err(err).Str("subject", msg.Subject).Msg("behavior failed in OnEvent; the event is over")
	}
}

func (r *Runtime) onHeartbeat(b Behavior, due time.Time) {
	tick := Tick{Agent: r.id, At: due}
	_, err := shielded(r.work, r.log(), func() (struct{}, error) { return struct{}{}, b.OnHeartbeat(r.work, tick) })
	if err != nil {
		r.log().Warn().Err(err).Time("due", due).Msg("behavior failed in OnHeartbeat; the tick is over")
	}
}
