package records_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// keysOf are the keys of a bucket that filter selects, and how their list ends.
func keysOf(ctx context.Context, js jetstream.JetStream, bucket, filter string, each func(n int)) (keys []string, err error) {
	for entry, err := range records.Entries(ctx, js, bucket, filter) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, entry.Key())
		each(len(keys))
	}
	return keys, nil
}

func TestEntries(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a.1", "a.2", "b.1", "a.3"} {
		if _, err := kv.PutString(t.Context(), key, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Delete(t.Context(), "a.2"); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string][]string{">": {"a.1", "b.1", "a.3"}, "a.*": {"a.1", "a.3"}, "c.*": nil} {
		got, err := keysOf(t.Context(), js, "B", filter, func(int) {})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", filter, err, diff)
		}
	}
	if _, err := keysOf(t.Context(), js, "none", ">", func(int) {}); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("of no bucket: got %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	if got, err := keysOf(over, js, "B", ">", func(int) { cancel() }); err == nil && len(got) < 3 {
		t.Errorf("after its end: got %v and no error", got)
	}
}

// What was read before the connection was lost is not all there is, and says so.
func TestEntriesOfALostConnection(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	kv, err := b.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	const all = 2000 // more than the client holds
	for n := range all {
		if _, err := b.JS.PublishAsync(fmt.Sprint("$KV.B.k", n), nil); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-b.JS.PublishAsyncComplete():
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	if _, err := kv.Get(t.Context(), fmt.Sprint("k", all-1)); err != nil {
		t.Fatal(err)
	}
	got, err := keysOf(t.Context(), b.JS, "B", ">", func(n int) {
		if n == 1 {
			b.NC.Close()
		}
	})
	if !errors.Is(err, records.ErrLost) {
		t.Errorf("got %d entries of %d and %v, want %v", len(got), all, err, records.ErrLost)
	}
}
