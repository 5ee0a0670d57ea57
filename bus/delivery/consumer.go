package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"
)

// ensure returns the lane's consumer, made or widened where needed. Filters are
// only ever added: another host of the fleet may know agents that this one
// does not know yet.
func (l *Lane) ensure(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	select {
	case l.ensuring <- struct{}{}:
		defer func() { <-l.ensuring }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return l.widened(ctx)
}

// Claim makes filters what the lane takes on behalf of this host. It returns
// once the server knows, or ctx has ended; that NATS is away is waited for.
// Filters that are not among them any more stay with the consumer.
func (l *Lane) Claim(ctx context.Context, filters []string) error {
	l.claims.Store(&filters)
	_, err := backoff.Retry(ctx, func() (jetstream.Consumer, error) { return l.ensure(ctx) },
		backoff.WithBackOff(backoff.NewConstantBackOff(time.Second)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { l.log.Warn().Err(err).Msg("lane claim subjects: failed; retrying") }))
	if err != nil {
		return fmt.Errorf("stream %s: %s: take other subjects: %w", l.cfg.Stream, l.cfg.Name, err)
	}
	return nil
}

func (l *Lane) widened(ctx context.Context) (jetstream.Consumer, error) {
	consumer, err := bus.Again(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return l.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("look up consumer: %w", err)
	}
	l.cover(consumer.CachedInfo())
	have := consumer.CachedInfo().Config
	if !l.lacks(have) {
		return consumer, nil
	}
	if err := l.recall(ctx, have); err != nil {
		return nil, err
	}
	return l.set(ctx, consumer, have)
}

// all is the filter that takes the whole of what lanes of the stream may take.
func (l *Lane) all() string {
	switch {
	case l.cfg.HandedOn:
		return bus.PartPrefix + "*.*"
	case l.cfg.Stream == bus.RoutesStream:
		return bus.RoutePrefix + "*"
	case l.cfg.Stream == bus.SchedulesStream: // never the schedules themselves
		return bus.DuePrefix + "*"
	}
	return "plugin.inbound.>"
}

func filtersOf(c jetstream.ConsumerConfig) []string {
	switch {
	case c.FilterSubject != "":
		return []string{c.FilterSubject}
	case len(c.FilterSubjects) == 0: // it takes everything
		return []string{">"}
	}
	return slices.Clone(c.FilterSubjects)
}

func (l *Lane) create(ctx context.Context) (jetstream.Consumer, error) {
	if len(*l.claims.Load()) == 0 { // without a filter it would take everything
		return nil, errors.New("the consumer is gone, and no agent of this host needs it")
	}
	cfg := jetstream.ConsumerConfig{
		Durable: l.cfg.Name, Description: bus.Description,
		FilterSubjects: Filters(*l.claims.Load(), l.all()),
		AckPolicy:      jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: maxAckPending, MaxDeliver: -1,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{laneGroup}, PinnedTTL: pinnedTTL,
	}
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return nil, fmt.Errorf("look up stream: %w", err)
	}
	if from := startOf(stream.CachedInfo().Config); from > 1 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) { // another host was quicker, with other filters
		return l.widened(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", bus.ExplainLimit(err))
	}
	l.cover(consumer.CachedInfo())
	return consumer, nil
}

func pinnedClient(info *jetstream.ConsumerInfo) string {
	for _, g := range info.PriorityGroups {
		if g.Group == laneGroup {
			return g.PinnedClientID
		}
	}
	return ""
}

// keepPin asks for a message as a pull does, but no larger than nothing: the
// server renews the pin and sends none. A lane that slows down has read what
// it pulled long before it pulls again.
func (l *Lane) keepPin() {
	pull, err := emptyPull(l.pin)
	if err == nil {
		nc := l.js.Conn()
		err = nc.PublishRequest(l.pullSubject(), nc.NewInbox(), pull)
	}
	if err != nil {
		l.log.Debug().Err(err).Msg("keep the lane while it is slow")
	}
}

func emptyPull(pin string) ([]byte, error) {
	return json.Marshal(map[string]any{"batch": 1, "max_bytes": 1, "no_wait": true, "group": laneGroup, "id": pin})
}

func (l *Lane) pullSubject() string {
	return bus.APIPrefix(l.js) + "CONSUMER.MSG.NEXT." + l.cfg.Stream + "." + l.cfg.Name
}

func (l *Lane) unpin(ctx context.Context) error {
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	if err := stream.UnpinConsumer(ctx, l.cfg.Name, laneGroup); err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	return nil
}
