package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

func (c *Courier) consumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: c.account.consumer(), Description: bus.Description,
		FilterSubjects: []string{c.account.claim(), c.account.outbound()},
		AckPolicy:      jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: maxAckPending, MaxDeliver: -1, DeliverPolicy: jetstream.DeliverNewPolicy,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{ownerGroup}, PinnedTTL: pinnedTTL,
	}
}

// ensureConsumer returns the account's consumer, made where it is missing. One that a
// program of its own has made goes on where it is.
func (c *Courier) ensureConsumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	want := c.consumerConfig()
	consumer, err := c.parts.JS.Consumer(ctx, bus.OutboundStream, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = c.parts.JS.CreateConsumer(ctx, bus.OutboundStream, want)
		if errors.Is(err, jetstream.ErrConsumerExists) { // another host was quicker
			consumer, err = c.parts.JS.Consumer(ctx, bus.OutboundStream, want.Durable)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", want.Durable, err)
	}
	have := consumer.CachedInfo().Config
	if have.PriorityPolicy == want.PriorityPolicy && slices.Equal(slices.Sorted(slices.Values(have.FilterSubjects)), want.FilterSubjects) {
		return consumer, nil
	}
	want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = have.DeliverPolicy, have.OptStartSeq, have.OptStartTime
	consumer, err = c.parts.JS.UpdateConsumer(ctx, bus.OutboundStream, want)
	if err != nil {
		return nil, fmt.Errorf("consumer %s is another program's: %w; stop that program and delete the consumer", want.Durable, err)
	}
	return consumer, nil
}
