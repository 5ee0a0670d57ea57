package upgrade_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/upgrade"

	"github.com/nats-io/nats.go/jetstream"
)

// One host at a time changes streams: another one waits, and one that has lost the lock stops.
func TestLock(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bus.LanesBucket})
	if err != nil {
		t.Fatal(err)
	}
	first, second := upgrade.NewLock(js), upgrade.NewLock(js)
	acquire := func(l *upgrade.Lock) error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return l.Acquire(ctx)
	}
	for range 2 {
		if err := first.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	bustest.WantError(t, acquire(second), "another host does it")
	first.Release(t.Context())
	if err := second.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "upgrade", []byte("a third host")); err != nil { // whose lease is not over
		t.Fatal(err)
	}
	lost := *second
	lost.Release(t.Context())
	bustest.WantError(t, second.Acquire(t.Context()), "renew lock")
	bustest.WantError(t, acquire(second), "another host does it")
	second.Release(t.Context())
	bustest.WantError(t, acquire(first), "renew lock")
	bustest.WantError(t, acquire(first), "another host does it")
}
