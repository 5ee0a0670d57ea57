package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// takeBack makes ready for a start: it unpins what an earlier life of this host
// still holds and, when no host serves the lane, has the server deliver again at
// once what was left, instead of when its ack timers run out.
func (l *Lane) takeBack(ctx context.Context, consumer jetstream.Consumer) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	info := consumer.CachedInfo()
	note, err := l.owner.read(ctx)
	if err != nil {
		return err
	}
	l.tried = max(l.tried, note.Tried)
	l.disown(note, l.pin)
	pin := pinnedClient(info)
	// It is this host's to ask, or another has asked since.
	if note.LeftOut == 0 || pin == "" || l.mine(note) && note.Pin == pin || pin == l.pin {
		l.heed(note)
	}
	if pin != "" && pin != l.pin && (!l.mine(note) || note.Pin != pin) && !l.owesLeftOut() {
		return nil // another host serves it
	}
	if pin != "" {
		l.log.Info().Msg("taking the lane back")
		if err := l.unpin(ctx); err != nil {
			return err
		}
		l.letGo()
	}
	if l.pin == "" && note.Host == l.cfg.Host && note.Pin != "" { // it did not stop, it died
		if err := l.distrust(ctx, &note); err != nil {
			return err
		}
	}
	if l.leftOut() > 0 || l.forgets(ctx, info) || note.Done < info.AckFloor.Stream && l.doubts(note, info) { // it was asked until just now
		if err := l.settleDeliveries(ctx, ""); err != nil {
			return err
		}
	} else if info.NumAckPending == 0 {
		return nil
	}
	return l.reset(ctx, &note, info, info.Delivered.Stream)
}

// mine reports whether a note is of this host or of an earlier life of it. While another
// host of its name lives, it may be of that one.
func (l *Lane) mine(note ownership) bool {
	return note.Host == l.cfg.Host && (l.cfg.Namesake == nil || !l.cfg.Namesake())
}

// distrust notes all that is stored as tried: a server that died with this
// host's earlier life may have forgotten what it delivered to it.
func (l *Lane) distrust(ctx context.Context, note *ownership) error {
	newest, err := l.newest(ctx)
	if err != nil {
		return err
	}
	note.Tried = max(note.Tried, newest)
	l.tried = max(l.tried, note.Tried)
	return l.owner.write(ctx, *note)
}

// newest is the sequence of the newest message of the stream.
func (l *Lane) newest(ctx context.Context) (uint64, error) {
	stream, err := bus.Again(ctx, func(ctx context.Context) (jetstream.Stream, error) { return l.js.Stream(ctx, l.cfg.Stream) })
	if err != nil {
		return 0, fmt.Errorf("look up stream: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// A takeover makes a host the owner of a lane, for the first time or again.
type takeover struct {
	pin      string
	first    *nats.MsgMetadata // of the first message under the pin, or behind a gap
	outdated bool              // what was noted of how far all is done is of another leader of the consumer
}

// resets reports whether something was delivered before, so that the consumer is reset, or may
// have been.
func (l *Lane) resets(t takeover) bool {
	return t.first.Sequence.Consumer > 1 || t.pin == l.pin || t.outdated
}

// takeOver makes this host the owner under a new pin, or again under the one it
// has. What an owner before may have left, or what was lost on its way, comes
// again after a reset, from the first message that is not acknowledged, in
// order.
func (l *Lane) takeOver(ctx context.Context, consumer jetstream.Consumer, t takeover) bool {
	api, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	note, err := l.owner.read(api)
	doubted := l.doubted
	if err == nil && note.Pin != "" && note.Pin != t.pin {
		doubted, err = l.newest(api)
	}
	if err == nil {
		l.disown(note, t.pin)
	}
	if err == nil && !l.resets(t) && note.Leader != "" {
		var info *jetstream.ConsumerInfo
		if info, err = bus.Again(api, consumer.Info); err == nil && l.doubts(note, info) {
			t.outdated = true
			l.ending, l.last = true, outOfOrder // as it is reset, which has to wait until it asks for nothing
			l.takeOverNext(t)
			return false
		}
	}
	if err == nil && l.resets(t) {
		if err = l.settleDeliveries(api, t.pin); err == nil {
			var info *jetstream.ConsumerInfo
			if info, err = bus.Again(api, consumer.Info); err == nil {
				err = l.reset(api, &note, info, deliveredBefore(t.first, info))
			}
		}
		l.resetting, l.resetAt = err == nil, time.Now()
	}
	former, handed := note.Host, note.Handed
	if note.Pin != "" { // who had the lane did not let it go
		handed = 0
	}
	note.Host, note.Pin, note.Handed = l.cfg.Host, t.pin, 0
	note.Tried = max(note.Tried, l.given) // a consumer made again begins at the first message
	if err == nil {                       // without a record the next owner would doubt nothing
		err = l.owner.write(api, note)
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) { // the host is stopping
			l.few.Warn().Err(err).Msg("take over lane: failed; retrying")
		}
		return false
	}
	l.pin, l.tried, l.handed, l.doubted = t.pin, note.Tried, handed, doubted
	l.progress.restart()
	if former != l.cfg.Host { // it may have stood still meanwhile
		l.letGo()
	}
	if l.pinned.Load() == nil {
		l.since.Store(time.Now().UnixMilli())
	}
	l.pinned.Store(&t.pin)
	l.log.Info().Uint64("tried", l.tried).Msg("this host serves the lane")
	l.gained(ctx, former)
	return true
}

// deliveredBefore is how far deliveries had come before the first under a new
// pin. By the time of asking, info counts some under that pin too.
func deliveredBefore(first *nats.MsgMetadata, info *jetstream.ConsumerInfo) uint64 {
	if first.NumDelivered == 1 {
		return first.Sequence.Stream - 1
	}
	return info.Delivered.Stream
}

// reset makes the server deliver again, in order, what is not acknowledged.
// How far the deliveries had come is noted first: the server forgets it.
func (l *Lane) reset(ctx context.Context, note *ownership, info *jetstream.ConsumerInfo, delivered uint64) error {
	l.cover(info)
	l.heed(*note)
	note.Tried = max(note.Tried, delivered)
	now := l.markOf(info)
	if l.doubts(*note, info) {
		now.Done = min(now.Done, note.Done)
		note.Done = now.Done // and the leader as it was, until the reset is made
	} else {
		note.mark = now
	}
	if err := l.owner.write(ctx, *note); err != nil {
		return err
	}
	if err := l.deliverAgain(ctx, info, now); err != nil {
		return err
	}
	note.mark = now
	if note.LeftOut > 0 { // only now: a host that dies before has the next one ask
		note.LeftOut = 0
		if err := l.owner.write(ctx, *note); err != nil {
			return err
		}
	}
	l.askedAgain()
	return nil
}

// takeOverNext has the lane taken over once it asks for nothing.
func (l *Lane) takeOverNext(t takeover) {
	select {
	case l.due <- t:
	default: // it is on the way
	}
}
