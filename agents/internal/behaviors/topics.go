// Package behaviors calls the behaviour of an agent: with messages, with what is published on
// its topics, and with heartbeats. A panic of it becomes an error.
package behaviors

import (
	"context"
	"slices"
	"sync"

	"agenthost/agents/internal/inflight"

	"github.com/nats-io/nats.go"
)

// Topics are the subscriptions of the behaviour of an agent. What is published reaches one
// host of the fleet, one event of a topic after the other.
type Topics struct {
	running sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // until it ends the topics are subscribed to; nil: not yet
	cancels map[string]context.CancelFunc
}

// Open subscribes until ctx ends.
func (s *Topics) Open(ctx context.Context, a *inflight.Agent) {
	s.mu.Lock()
	s.ctx, s.cancels = ctx, map[string]context.CancelFunc{}
	s.mu.Unlock()
	s.Update(a)
}

// Update goes over to the topics of the behaviour that there is by now.
func (s *Topics) Update(a *inflight.Agent) {
	var topics []string
	if b := a.Now().Behavior; b != nil {
		topics = b.Topics()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil {
		return
	}
	for topic, cancel := range s.cancels {
		if !slices.Contains(topics, topic) {
			cancel()
			delete(s.cancels, topic)
		}
	}
	for _, topic := range topics {
		if s.cancels[topic] == nil {
			s.subscribe(a, topic)
		}
	}
}

// subscribe is called with the lock held.
func (s *Topics) subscribe(a *inflight.Agent, topic string) {
	events := make(chan *nats.Msg, pendingEvents)
	sub, err := a.Parts.NC.ChanQueueSubscribe(topic, "agent."+a.ID, events)
	if err != nil {
		a.Log().Error().Err(err).Str("topic", topic).Msg("behavior cannot hear of a topic; want a NATS subject")
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.cancels[topic] = cancel
	s.running.Go(func() {
		receive(ctx, a, events)
		_ = sub.Unsubscribe() // the connection may be gone
	})
}

// Stop ends all subscriptions.
func (s *Topics) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.cancels {
		cancel()
	}
}

// Wait waits until the events in progress are handled.
func (s *Topics) Wait() { s.running.Wait() }

func receive(ctx context.Context, a *inflight.Agent, events <-chan *nats.Msg) {
	for {
		select {
		case msg := <-events:
			onEvent(a, msg)
		case <-ctx.Done():
			return
		}
	}
}

// pendingEvents is how many events of a topic wait; NATS drops more.
const pendingEvents = 1024
