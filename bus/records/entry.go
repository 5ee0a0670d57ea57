package records

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/nats-io/nats.go/jetstream"
)

// bucketKey is how the keys of buckets look.
var bucketKey = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// Entry reads what a bucket has under key; its Seq is the revision. ErrNotFound
// means that the key has no value, or that it was deleted. Unlike the Get of a
// jetstream.KeyValue it does not read from replicas that lag.
func (r *Reader) Entry(ctx context.Context, bucket, key string) (Record, error) {
	if !bucketKey.MatchString(key) {
		return Record{}, fmt.Errorf("key %q of bucket %s: %w", key, bucket, ErrNotFound)
	}
	rec, err := r.Last(ctx, "KV_"+bucket, "$KV."+bucket+"."+key)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return Record{}, jetstream.ErrBucketNotFound
	case err != nil:
		return Record{}, err
	case rec.Header.Get("KV-Operation") != "", rec.Header.Get(jetstream.MarkerReasonHeader) != "":
		return Record{}, ErrNotFound
	}
	return rec, nil
}
