package records

import (
	"context"
	"errors"
	"iter"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrLost says that the connection was lost before all was read.
var ErrLost = errors.New("the connection was lost before all was read")

// Entries are what a bucket holds at keys that match filter, without those that were
// deleted. An error is the last that comes, and says that entries may be missing.
func Entries(ctx context.Context, js jetstream.JetStream, bucket, filter string) iter.Seq2[jetstream.KeyValueEntry, error] {
	return func(yield func(jetstream.KeyValueEntry, error) bool) {
		if len(filter) > bus.LongestSubject {
			return // there are no such keys
		}
		watch, err := watchEntries(ctx, js, bucket, filter)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = watch.Stop() }() // the connection may be gone
		for {
			select {
			case entry, open := <-watch.Updates():
				if !open {
					yield(nil, ErrLost)
					return
				}
				if entry == nil || !yield(entry, nil) { // nil: that was all
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

func watchEntries(ctx context.Context, js jetstream.JetStream, bucket, filter string) (jetstream.KeyWatcher, error) {
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, err
	}
	return kv.Watch(ctx, filter, jetstream.IgnoreDeletes())
}
