package host_test

import (
	"bytes"
	"testing"

	"agenthost/bus"
	"agenthost/bus/signing"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// The key that hosts sign with is there again after its bucket was made again.
func TestKeyOutlastsItsBucket(t *testing.T) {
	t.Parallel()
	f := newChangedFleet(t)
	f.start("blue", f.config("demo", "ana"))
	key := func() []byte {
		kv, err := f.bus.JS.KeyValue(t.Context(), bus.LanesBucket)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := kv.Get(t.Context(), signing.Key)
		if err != nil {
			return nil
		}
		return entry.Value()
	}
	before := key()
	err := f.bus.JS.DeleteKeyValue(t.Context(), bus.LanesBucket)
	if err == nil {
		_, err = f.bus.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bus.LanesBucket})
	}
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the key is back", func() bool { return len(before) > 0 && bytes.Equal(key(), before) })
}
