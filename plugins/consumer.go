package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	stream, err := c.parts.JS.Stream(ctx, bus.OutboundStream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", bus.OutboundStream, err)
	}
	c.maxAge = stream.CachedInfo().Config.MaxAge
	c.startOver(stream.CachedInfo().Created)
	want := c.consumerConfig()
	consumer, err := c.parts.JS.Consumer(ctx, bus.OutboundStream, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if err := c.goOn(ctx, stream.CachedInfo().State.LastSeq, &want); err != nil {
			return nil, err
		}
		consumer, err = c.parts.JS.CreateConsumer(ctx, bus.OutboundStream, want)
		if errors.Is(err, jetstream.ErrConsumerExists) { // another host was quicker
			consumer, err = c.parts.JS.Consumer(ctx, bus.OutboundStream, want.Durable)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", want.Durable, err)
	}
	c.position, c.all = consumer.CachedInfo().AckFloor.Stream, false
	have := consumer.CachedInfo().Config
	if isAccounts(have) && have.PinnedTTL == want.PinnedTTL && have.AckWait == want.AckWait &&
		slices.Equal(slices.Sorted(slices.Values(have.FilterSubjects)), want.FilterSubjects) {
		return consumer, nil
	}
	want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = have.DeliverPolicy, have.OptStartSeq, have.OptStartTime
	consumer, err = c.parts.JS.UpdateConsumer(ctx, bus.OutboundStream, want)
	if err != nil {
		return nil, fmt.Errorf("consumer %s is another program's: %w; stop that program and delete the consumer", want.Durable, err)
	}
	return consumer, nil
}

// startOver forgets how far the account had come when the stream was deleted and made again:
// its sequences count from 1.
func (c *Courier) startOver(created time.Time) {
	if !c.created.IsZero() && !created.Equal(c.created) {
		c.position, c.all = 0, true
		c.settled.clear()
	}
	c.created = created
}

// goOn has a consumer that is made again begin where the one before it has ended: this
// host has seen how far that had come, or it was removed with a note of it. The first
// consumer of an account begins with what is new. In a stream that was made again all is new
// to it: a place behind its end is of the one before.
func (c *Courier) goOn(ctx context.Context, last uint64, want *jetstream.ConsumerConfig) error {
	done := c.position
	if done == 0 {
		held, err := c.notes.holder(ctx)
		if err != nil {
			return err
		}
		done = held.Done
	}
	switch {
	case c.all || done > last:
		want.DeliverPolicy = jetstream.DeliverAllPolicy
	case done > 0:
		want.DeliverPolicy, want.OptStartSeq = jetstream.DeliverByStartSequencePolicy, done+1
	}
	return nil
}

// isAccounts reports whether a consumer is one of an account, and not of a program.
func isAccounts(config jetstream.ConsumerConfig) bool {
	return config.PriorityPolicy == jetstream.PriorityPolicyPinned && slices.Equal(config.PriorityGroups, []string{ownerGroup})
}
