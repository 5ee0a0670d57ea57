package delivery

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// release lets the pin go, and has the server deliver again at once what was
// left, so that another host need not wait for timers.
func (l *Lane) release() {
	ctx, cancel := context.WithTimeout(context.Background(), bus.APITimeout)
	defer cancel()
	if err := l.HandOver(ctx); err != nil {
		l.log.Warn().Err(err).Msg("release lane: failed; another host takes it when the pin expires")
	}
}

// HandOver lets the pin go, if this host holds it: the lane must not be asking for
// messages any more. What is held stays held, and is delivered to the next owner too.
func (l *Lane) HandOver(ctx context.Context) error {
	pin := l.letGo()
	if pin == nil {
		return nil
	}
	return l.handOver(ctx, *pin)
}

func (l *Lane) handOver(ctx context.Context, pin string) error {
	if err := l.settleDeliveries(ctx, pin); err != nil {
		return err
	}
	consumer, err := l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	if err != nil {
		return fmt.Errorf("look up consumer: %w", err)
	}
	info := consumer.CachedInfo()
	if pinnedClient(info) != pin {
		return nil
	}
	return errors.Join(l.leaveNote(ctx, info), l.unpin(ctx))
}

// leaveNote records that no host serves the lane, and has the server deliver again
// what was left.
func (l *Lane) leaveNote(ctx context.Context, info *jetstream.ConsumerInfo) error {
	note, err := l.owner.read(ctx)
	if err != nil {
		return err
	}
	l.cover(info)
	note.Pin, note.mark = "", l.markOf(info)
	if info.NumAckPending > 0 || l.miscounts(info) {
		note.Handed = info.Delivered.Stream
		return l.reset(ctx, &note, info, info.Delivered.Stream)
	}
	return l.owner.write(ctx, note)
}
