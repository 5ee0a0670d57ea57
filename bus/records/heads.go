package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What one pull of Heads asks for, and how long it waits.
const (
	headsBatch  = 2000
	headsWithin = 5 * time.Second
)

// Heads calls each with the newest message of every subject of a stream that
// filter matches, in the order of the stream. One that is replaced meanwhile may
// be missing. With bare the messages come without their data, so that a hundred
// thousand of them are a matter of a second.
func Heads(ctx context.Context, js jetstream.JetStream, stream, filter string, bare bool, each func(Record)) error {
	cons, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: filter, HeadersOnly: bare,
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 30 * time.Second, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return fmt.Errorf("list subjects of %s: %w", stream, err)
	}
	info := cons.CachedInfo()
	defer func() { // else it goes by itself
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), headsWithin)
		defer cancel()
		_ = js.DeleteConsumer(ctx, stream, info.Name)
	}()
	for left := info.NumPending; left > 0; {
		if left, err = pullHeads(ctx, cons, int(min(left, headsBatch)), each); err != nil {
			return fmt.Errorf("list subjects of %s: %w", stream, err)
		}
	}
	return nil
}

// pullHeads takes a batch of n and returns how many are left.
func pullHeads(ctx context.Context, cons jetstream.Consumer, n int, each func(Record)) (left uint64, err error) {
	batch, err := cons.Fetch(n, jetstream.FetchMaxWait(headsWithin))
	if err != nil {
		return 0, err
	}
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return 0, err
		}
		left = meta.NumPending
		each(Record{
			Subject: msg.Subject(), Seq: meta.Sequence.Stream, Time: meta.Timestamp, Header: msg.Headers(), Data: msg.Data(),
		})
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	return left, ctx.Err()
}
