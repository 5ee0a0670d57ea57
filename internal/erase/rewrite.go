package erase

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// personal are the buckets that can have words or names of a person.
var personal = []string{
	bus.WaitingBucket, bus.AllowedBucket, bus.MemoryBucket, bus.SchedulesBucket, bus.PairingsBucket, bus.RequestsBucket, bus.ChannelsBucket,
}

// What is written into a bucket to have NATS rewrite its files.
const (
	filling  = 5 << 20   // more than the 4 MB of a file of a bucket
	fillEach = 256 << 10 // in one message, at the most
	fillKey  = "erasing"

	fillPauses = "pause.erasing" // of what commands may write in AGENT_LANES
)

// rewrite has NATS rewrite the files of the buckets without what was deleted from them, by the
// erasure or long before. A message of a bucket cannot be overwritten, and one that is deleted
// stays in its file. NATS rewrites a file when something is deleted from it, once another file
// is the last and more than half of it is gone. So the last is filled up, with what is deleted
// at once. To those that follow a bucket that is the deletion of a key that they do not know.
func (e *eraser) rewrite(ctx context.Context) error {
	for _, bucket := range personal {
		if err := e.rewriteBucket(ctx, bucket, fillKey, e.purgeEntry); err != nil {
			return fmt.Errorf("rewrite bucket %s: %w", bucket, err)
		}
	}
	// In AGENT_LANES only pauses have words, and commands may purge nothing there, or they
	// could delete the key of the fleet. An empty deletion takes the place of the last.
	if err := e.rewriteBucket(ctx, bus.LanesBucket, fillPauses, e.fill(0)); err != nil {
		return fmt.Errorf("rewrite bucket %s: %w", bus.LanesBucket, err)
	}
	return nil
}

// rewriteBucket fills a bucket up, and ends with what empties it again.
func (e *eraser) rewriteBucket(ctx context.Context, bucket, key string, empty func(ctx context.Context, bucket, key string) error) error {
	if _, err := e.js.Stream(ctx, "KV_"+bucket); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	each := min(fillEach, int(e.js.Conn().MaxPayload()/2))
	fill := e.fill(each)
	for n := 0; n < filling; n += each {
		if err := fill(ctx, bucket, key); err != nil {
			return err
		}
	}
	return empty(ctx, bucket, key)
}

// fill puts a deletion of a size in the place of an entry.
func (e *eraser) fill(size int) func(ctx context.Context, bucket, key string) error {
	return func(ctx context.Context, bucket, key string) error {
		msg := nats.NewMsg("$KV." + bucket + "." + key)
		msg.Header.Set("KV-Operation", "DEL")
		msg.Data = make([]byte, size)
		_, err := e.js.PublishMsg(ctx, msg)
		return err
	}
}
