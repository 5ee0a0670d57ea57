package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// copyConsumers gives a stream the durable consumers that programs have on another,
// where they are. Those that push wait until the last copy.
func (u *Upgrade) copyConsumers(ctx context.Context, from, to string) error {
	source, err := u.JS.Stream(ctx, from)
	if err != nil {
		return err
	}
	target, err := u.JS.Stream(ctx, to)
	if err != nil {
		return err
	}
	list := source.ListConsumers(ctx)
	var theirs []*jetstream.ConsumerInfo // the whole list first: the client gives it 5 seconds
	for info := range list.Info() {
		if info.Config.Durable != "" && !delivery.IsLane(info.Name) {
			theirs = append(theirs, info)
		}
	}
	if err := list.Err(); err != nil {
		return err
	}
	for _, info := range theirs {
		if err := copyConsumer(ctx, target, info, to == bus.RoutesStream); err != nil {
			return fmt.Errorf("copy consumer %s: %w", info.Name, err)
		}
		u.done("copy consumer")
	}
	return nil
}

func copyConsumer(ctx context.Context, to jetstream.Stream, info *jetstream.ConsumerInfo, last bool) error {
	cfg := goesOn(info)
	var err error
	switch {
	case cfg.DeliverSubject == "":
		_, err = to.CreateConsumer(ctx, cfg)
	case last:
		cfg.PauseUntil = nil
		_, err = to.CreatePushConsumer(ctx, cfg)
	default:
		later := time.Now().Add(365 * 24 * time.Hour)
		cfg.PauseUntil = &later
		_, err = to.CreatePushConsumer(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrConsumerExists) { // before a crash
		return nil
	}
	return err
}

// goesOn is the configuration of a consumer that begins where another is. Of one with
// replicas that has never delivered anything, NATS does not say where that is.
func goesOn(info *jetstream.ConsumerInfo) jetstream.ConsumerConfig {
	cfg := info.Config
	switch {
	case info.AckFloor.Stream > 0:
		if cfg.DeliverPolicy != jetstream.DeliverByStartSequencePolicy {
			cfg.DeliverPolicy, cfg.OptStartTime, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, nil, 0
		}
		cfg.OptStartSeq = max(cfg.OptStartSeq, info.AckFloor.Stream+1)
	case cfg.DeliverPolicy == jetstream.DeliverNewPolicy:
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &info.Created
	}
	return cfg
}
