package records

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// bucketKey is how the keys of buckets look.
var bucketKey = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// Entry reads what a bucket has under key; its Seq is the revision. ErrNotFound
// means that the key has no value, or that it was deleted: then Seq is that of what says so. Unlike the Get of a
// jetstream.KeyValue it does not read from replicas that lag.
func (r *Reader) Entry(ctx context.Context, bucket, key string) (Record, error) {
	return entry(ctx, bucket, key, r.Last)
}

// EntryFromAny is Entry as any copy of the bucket has it. Its question names the key in its
// subject, so that NATS can allow it for some keys of a bucket and not for others.
func (r *Reader) EntryFromAny(ctx context.Context, bucket, key string) (Record, error) {
	return entry(ctx, bucket, key, r.lastFromAny)
}

func entry(ctx context.Context, bucket, key string, last func(ctx context.Context, stream, subject string) (Record, error)) (Record, error) {
	if !bucketKey.MatchString(key) {
		return Record{}, fmt.Errorf("key %q of bucket %s: %w", key, bucket, ErrNotFound)
	}
	rec, err := last(ctx, "KV_"+bucket, "$KV."+bucket+"."+key)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return Record{}, jetstream.ErrBucketNotFound
	case err != nil:
		return Record{}, err
	case rec.Header.Get("KV-Operation") != "", rec.Header.Get(jetstream.MarkerReasonHeader) != "":
		return Record{Seq: rec.Seq}, ErrDeleted
	}
	return rec, nil
}

// ErrDeleted is the ErrNotFound of an entry that was there and was deleted.
var ErrDeleted = fmt.Errorf("deleted: %w", ErrNotFound)

// Replace writes an entry in the place of its revision; 0: of none, or of one that was
// deleted. Where there is another by now, Overtaken holds for the error.
func Replace(ctx context.Context, kv jetstream.KeyValue, key string, data []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return kv.Create(ctx, key, data)
	}
	return kv.Update(ctx, key, data, revision)
}

// Overtaken reports whether err is that another has written an entry first.
func Overtaken(err error) bool {
	return errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) || bus.Refused(err)
}
