package session

import (
	"context"
	"fmt"
	"iter"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Follow yields what is committed to a session from now on, until ctx ends. ready
// is called once no later commit can be missed.
func (a *Archive) Follow(ctx context.Context, agent, sid string, ready func()) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		msgs, err := a.news(ctx, Subject(agent, sid))
		if err != nil {
			yield(Fact{}, fmt.Errorf("follow session %s of %s: %w", sid, agent, err))
			return
		}
		defer msgs.Stop()
		ready()
		for {
			msg, err := bus.Next(ctx, msgs)
			if ctx.Err() != nil {
				return
			}
			var facts []Fact
			if err == nil {
				facts, err = a.received(ctx, msg)
			}
			if err != nil {
				yield(Fact{}, fmt.Errorf("follow session %s of %s: %w", sid, agent, err))
				return
			}
			for _, f := range facts {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

func (a *Archive) news(ctx context.Context, subject string) (jetstream.MessagesContext, error) {
	cons, err := a.js.OrderedConsumer(ctx, bus.SessionsStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverNewPolicy,
	})
	if err != nil {
		return nil, err
	}
	return cons.Messages()
}

func (a *Archive) received(ctx context.Context, msg jetstream.Msg) ([]Fact, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	return a.read(ctx, meta.Sequence.Stream, msg.Data())
}
