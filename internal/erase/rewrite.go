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
)

// rewrite has NATS rewrite the files of the buckets without what was deleted from them, by the
// erasure or long before. A message of a bucket cannot be overwritten, and one that is deleted
// stays in its file. NATS rewrites a file when something is deleted from it, once another file
// is the last and more than half of it is gone. So the last is filled up, with what is deleted
// at once. To those that follow a bucket that is the deletion of a key that they do not know.
func (e *eraser) rewrite(ctx context.Context) error {
	each := min(fillEach, int(e.js.Conn().MaxPayload()/2))
	for _, bucket := range personal {
		stream, err := e.js.Stream(ctx, "KV_"+bucket)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		msg := nats.NewMsg("$KV." + bucket + "." + fillKey)
		msg.Header.Set("KV-Operation", "DEL")
		msg.Data = make([]byte, each)
		for n := 0; n < filling && err == nil; n += each {
			_, err = e.js.PublishMsg(ctx, msg)
		}
		if err == nil {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(msg.Subject))
		}
		if err != nil {
			return fmt.Errorf("rewrite bucket %s: %w", bucket, err)
		}
	}
	return nil
}
