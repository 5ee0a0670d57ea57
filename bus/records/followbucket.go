package records

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// followPause is between two tries to follow a bucket.
const followPause = time.Second

// errConnectedAgain ends a watch whose consumer may be gone with the server. The client
// notices that by heartbeats that do not come, some ten seconds later.
var errConnectedAgain = errors.New("the connection was lost")

// Follow hands every entry of a bucket to take, those that are there first,
// and then each change, until ctx ends. After a cut it starts over. Each time
// when take has had all that was there, it calls whole, if there is one.
func Follow(ctx context.Context, js jetstream.JetStream, bucket string, log zerolog.Logger, take func(jetstream.KeyValueEntry), whole func()) {
	for back := false; ctx.Err() == nil; {
		err := followOnce(ctx, js, bucket, take, whole)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errConnectedAgain) {
			back = true
			continue
		}
		level := zerolog.WarnLevel
		if back { // JetStream may need a moment longer
			level, back = zerolog.DebugLevel, false
		}
		log.WithLevel(level).Err(err).Str("bucket", bucket).Msg("follow bucket: failed; retrying")
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}

func followOnce(ctx context.Context, js jetstream.JetStream, bucket string, take func(jetstream.KeyValueEntry), whole func()) error {
	again := js.Conn().StatusChanged(nats.CONNECTED)
	defer js.Conn().RemoveStatusListener(again)
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return err
	}
	watch, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }() // the connection may be gone
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-again:
			if !open {
				return nats.ErrConnectionClosed
			}
			return errConnectedAgain
		case entry, open := <-watch.Updates():
			switch {
			case !open:
				return errors.New("the watch has ended")
			case entry != nil:
				take(entry)
			case whole != nil:
				whole()
			}
		}
	}
}
