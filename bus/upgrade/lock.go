package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	upgradeKey = "upgrade" // in LanesBucket
	// upgradeLease is how long a host that does not renew its lock has it, by the
	// clock of the server.
	upgradeLease = 10 * time.Second
	upgradePoll  = 250 * time.Millisecond
)

// An upgradeLock lets one host at a time upgrade streams. It is renewed before every
// step: a step that deletes is over, or has timed out, before the lease is.
type upgradeLock struct {
	js  jetstream.JetStream
	id  string
	rev uint64 // of the entry; 0 while this host does not have it
}

// acquire takes the lock, or renews it, and waits while another host has it.
func (l *upgradeLock) acquire(ctx context.Context) error {
	kv, err := l.js.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if l.rev != 0 {
		return l.renew(ctx, kv)
	}
	l.id = nuid.Next()
	for {
		rev, err := l.take(ctx, kv)
		if err == nil {
			l.rev = rev
			return nil
		}
		if !errors.Is(err, errLockHeld) {
			return fmt.Errorf("lock: %w", err)
		}
		if bus.Pause(ctx, upgradePoll); ctx.Err() != nil {
			return fmt.Errorf("another host does it: %w", ctx.Err())
		}
	}
}

// renew keeps the lock. A host that was paused for longer than the lease has lost it.
func (l *upgradeLock) renew(ctx context.Context, kv jetstream.KeyValue) error {
	rev, err := kv.Update(ctx, upgradeKey, []byte(l.id), l.rev)
	if err != nil {
		l.rev = 0
		return fmt.Errorf("renew lock: %w", err)
	}
	l.rev = rev
	return nil
}

var errLockHeld = errors.New("another host has the lock")

// take takes a lock that is free, or whose lease has run out.
func (l *upgradeLock) take(ctx context.Context, kv jetstream.KeyValue) (uint64, error) {
	rev, err := kv.Create(ctx, upgradeKey, []byte(l.id))
	if !records.Overtaken(err) {
		return rev, err
	}
	entry, err := records.NewReader(l.js).Entry(ctx, bus.LanesBucket, upgradeKey)
	if errors.Is(err, records.ErrNotFound) {
		return 0, errLockHeld // it was released just now
	}
	if err != nil {
		return 0, err
	}
	stream, err := l.js.Stream(ctx, "KV_"+bus.LanesBucket)
	if err != nil {
		return 0, err
	}
	if stream.CachedInfo().TimeStamp.Sub(entry.Time) < upgradeLease {
		return 0, errLockHeld
	}
	if rev, err = kv.Update(ctx, upgradeKey, []byte(l.id), entry.Seq); records.Overtaken(err) {
		return 0, errLockHeld
	}
	return rev, err
}

// release lets the lock go, also when ctx has ended.
func (l *upgradeLock) release(ctx context.Context) {
	if l.rev == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bus.APITimeout)
	defer cancel()
	if kv, err := l.js.KeyValue(ctx, bus.LanesBucket); err == nil {
		_ = kv.Delete(ctx, upgradeKey, jetstream.LastRevision(l.rev)) // else its lease runs out
	}
}
