package partitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// settleEvery is how often former partitions are looked at.
	settleEvery = 250 * time.Millisecond
	settleTry   = 5 * time.Second
)

// settle reads the record, has it say what is wanted, and sees former partitions through,
// until there is nothing of that to do.
func (d *Division) settle() {
	for {
		ctx, cancel := context.WithTimeout(d.agent.Work, settleTry)
		done, err := d.settleOnce(ctx)
		cancel()
		if err != nil && d.agent.Work.Err() == nil {
			d.agent.Parts.Few.Warn().Err(err).Str("agent", d.agent.ID).Msg("change partitions: failed; trying again")
		}
		d.mu.Lock()
		done = (done && !d.looking) || d.whole.Yields()
		d.settling, d.looking = !done, false
		d.notify()
		d.mu.Unlock()
		if done {
			return
		}
		bus.Pause(d.agent.Work, settleEvery)
	}
}

func (d *Division) settleOnce(ctx context.Context) (done bool, err error) {
	d.mu.Lock()
	known, l, least := d.known, d.layout, d.least
	d.mu.Unlock()
	switch {
	case !known:
		return false, d.read(ctx)
	case l.Generation < least: // the record was lost
		return false, d.write(ctx, l.next(least+1, d.wanted()))
	case !l.Settled:
		settled, err := d.formerDone(ctx, l)
		if err != nil || !settled {
			return false, err
		}
		l.Settled = true
		return false, d.write(ctx, l)
	case l.Partitions != d.wanted():
		next := l.next(l.Generation+1, d.wanted())
		d.agent.Log().Info().Int("partitions", next.Partitions).Int("before", next.Former).
			Msg("partitions change: sessions move as the former ones have done what they were given")
		return false, d.write(ctx, next)
	}
	return true, nil
}

// read reads the record. Where it was lost or cannot be read, this host goes by what it knows.
func (d *Division) read(ctx context.Context) error {
	entry, err := d.agent.Parts.Reader.Entry(ctx, bus.LanesBucket, lanes.LayoutKey(d.agent.ID))
	lost := errors.Is(err, records.ErrNotFound)
	if err != nil && !lost {
		return err
	}
	l, unreadable := undivided, error(nil)
	if !lost {
		l, unreadable = ReadLayout(entry.Data)
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = true
	switch {
	case lost:
		d.revision = 0
	case unreadable != nil:
		d.agent.Log().Warn().Err(unreadable).Str("bucket", bus.LanesBucket).Str("key", lanes.LayoutKey(d.agent.ID)).
			Msg("read the record of the partitions: failed; this host writes what it knows in its place")
		d.revision = entry.Seq
	case entry.Seq >= d.revision:
		d.take(entry.Seq, l)
	}
	return nil
}

// write changes the record, unless another host has. Nothing is handed on meanwhile.
func (d *Division) write(ctx context.Context, l Layout) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	kv, err := d.agent.Parts.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return err
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	d.mu.Lock()
	before := d.revision
	d.known = false // whatever comes of it
	d.mu.Unlock()
	key := lanes.LayoutKey(d.agent.ID)
	revision, err := records.Replace(ctx, kv, key, data, before)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known = revision > d.revision; d.known {
		d.take(revision, l)
	}
	return nil
}

// formerDone reports whether the former partitions have done all that they were given.
func (d *Division) formerDone(ctx context.Context, l Layout) (bool, error) {
	if l.Former == 0 {
		keys := slices.DeleteFunc(d.whole.Unfinished(), func(key string) bool { return key == string(message.HeartbeatKey) })
		return len(keys) == 0 && !d.agent.Parts.Finishing.HasAny(d.agent.ID), nil
	}
	targets, err := d.formerTargets(ctx, l)
	if err != nil {
		return false, err
	}
	for number, target := range targets {
		done, err := d.isDone(ctx, number, target)
		if err != nil {
			return false, err
		}
		if done {
			d.mu.Lock()
			delete(d.targets, number)
			d.notify()
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.targets != nil && len(d.targets) == 0, nil
}

// formerTargets are up to where each former partition that is not done is to be. It is sealed
// there: nothing comes behind that by the layout before.
func (d *Division) formerTargets(ctx context.Context, l Layout) (map[int]uint64, error) {
	d.mu.Lock()
	targets := maps.Clone(d.targets)
	d.mu.Unlock()
	if targets != nil {
		return targets, nil
	}
	targets = map[int]uint64{}
	for number := range l.Former {
		end, err := d.seal(ctx, number, l.Generation)
		if err != nil {
			return nil, err
		}
		targets[number] = end
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.layout.Generation == l.Generation && d.known {
		d.targets = maps.Clone(targets)
	}
	return targets, nil
}

// isDone reports whether a partition has done all up to a message.
func (d *Division) isDone(ctx context.Context, number int, target uint64) (bool, error) {
	consumer, err := d.agent.Parts.JS.Consumer(ctx, bus.RoutesStream, lanes.PartitionLane(d.agent.ID, number))
	if errors.Is(err, jetstream.ErrConsumerNotFound) { // its hosts are about to make it
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up the lane of partition %s: %w", strconv.Itoa(number), err)
	}
	info := consumer.CachedInfo()
	if info.AckFloor.Stream >= target {
		return true, nil
	}
	if info.NumPending > 0 || info.NumAckPending > 0 {
		return false, nil
	}
	// Either the copy of the stream that the consumer reads is behind, or the last message was deleted.
	_, err = d.agent.Parts.Reader.Get(ctx, bus.RoutesStream, target)
	if errors.Is(err, records.ErrNotFound) {
		return true, nil
	}
	return false, err
}
