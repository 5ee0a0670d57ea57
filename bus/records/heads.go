package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What one pull of Heads asks for, and how long it waits.
const (
	headsBatch  = 2000
	headsWithin = 5 * time.Second
)

// Heads calls each with the newest message of every subject of a stream that
// filter matches, in the order of the stream. One that is replaced meanwhile may
// be missing, or come again as the newer one. With bare the messages come without their data, so that a hundred
// thousand of them are a matter of a second.
//
// It reads one copy of the stream. That may be behind the others: then it is read
// again, for what was missing, until it has the newest that the leader has.
func Heads(ctx context.Context, js jetstream.JetStream, stream, filter string, bare bool, each func(Record)) error {
	newest, copies, err := newestOf(ctx, js, stream, filter)
	if err != nil {
		return fmt.Errorf("list subjects of %s: %w", stream, err)
	}
	var last uint64
	seen := map[string]bool{}
	once := func(rec Record) {
		last = max(last, rec.Seq)
		if copies > 1 && seen[rec.Subject] {
			return
		}
		if copies > 1 {
			seen[rec.Subject] = true
		}
		each(rec)
	}
	for late := time.Now().Add(headsWithin); ; {
		if err := headsOfCopy(ctx, js, stream, filter, bare, once); err != nil {
			return fmt.Errorf("list subjects of %s: %w", stream, err)
		}
		if last >= newest || time.Now().After(late) { // or the newest has been deleted
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// newestOf is the sequence of the newest message that filter matches, as the leader of a
// stream with several copies has it; 0 if there is none, or one copy.
func newestOf(ctx context.Context, js jetstream.JetStream, stream, filter string) (seq uint64, copies int, err error) {
	within, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	s, err := js.Stream(within, stream)
	if err != nil {
		return 0, 0, err
	}
	if copies = s.CachedInfo().Config.Replicas; copies <= 1 {
		return 0, copies, nil
	}
	rec, err := NewReader(js).ask(ctx, stream, getRequest{LastFor: filter})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return rec.Seq, copies, err
}

// headsOfCopy reads a copy of the stream, which the servers choose.
func headsOfCopy(ctx context.Context, js jetstream.JetStream, stream, filter string, bare bool, each func(Record)) error {
	cons, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: filter, HeadersOnly: bare,
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 30 * time.Second, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}
	info := cons.CachedInfo()
	defer func() { // else it goes by itself
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), headsWithin)
		defer cancel()
		_ = js.DeleteConsumer(ctx, stream, info.Name)
	}()
	late := time.Now().Add(headsWithin)
	for left := info.NumPending; left > 0; {
		now, err := pullHeads(ctx, cons, int(min(left, headsBatch)), each)
		if errors.Is(err, nats.ErrNoResponders) && time.Now().Before(late) {
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		left = now
	}
	return nil
}

// pause waits for the server that has a new consumer to be known to the one that is
// asked: a moment, in a cluster.
func pause(ctx context.Context) error {
	select {
	case <-time.After(10 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
