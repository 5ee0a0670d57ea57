package upgrade

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// A Lock is that of an upgrade, as tests hold it.
type Lock struct{ lock upgradeLock }

// NewLock is the lock of a host that does not have it.
func NewLock(js jetstream.JetStream) *Lock { return &Lock{upgradeLock{js: js}} }

// Acquire takes the lock, or renews it.
func (l *Lock) Acquire(ctx context.Context) error { return l.lock.acquire(ctx) }

// Release lets it go.
func (l *Lock) Release(ctx context.Context) { l.lock.release(ctx) }
