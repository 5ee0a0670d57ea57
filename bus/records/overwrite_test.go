package records_test

import (
	"errors"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// What is overwritten is gone. What was gone before does not count, and what a stream does not
// delete is not said to be gone.
func TestOverwrite(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	for _, config := range []jetstream.StreamConfig{{Name: "S", Subjects: []string{"s"}}, {Name: "KEEPS", Subjects: []string{"keeps"}, DenyDelete: true}} {
		if _, err := b.JS.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := b.JS.Publish(t.Context(), config.Subjects[0], []byte("secret")); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := b.JS.Stream(t.Context(), "S")
	if err == nil {
		err = s.DeleteMsg(t.Context(), 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := records.Overwrite(t.Context(), b.JS, "S", []uint64{1, 2, 3, 99}); n != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	reader := records.NewReader(b.JS)
	for seq, gone := range map[uint64]bool{1: true, 2: true, 3: true, 4: false} {
		if _, err := reader.Get(t.Context(), "S", seq); errors.Is(err, records.ErrNotFound) != gone {
			t.Errorf("message %d: %v", seq, err)
		}
	}
	if n, err := records.Overwrite(t.Context(), b.JS, "KEEPS", []uint64{1}); n != 0 || err == nil || !strings.Contains(err.Error(), "message 1 of KEEPS") {
		t.Errorf("where a stream deletes nothing: got %d, %v", n, err)
	}
	if n, err := records.Overwrite(t.Context(), b.JS, "NONE", []uint64{1}); n != 0 || !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("without a stream: got %d, %v", n, err)
	}
	if n, err := records.Overwrite(t.Context(), b.JS, "NONE", nil); n != 0 || err != nil {
		t.Errorf("nothing: got %d, %v", n, err)
	}
}

// Of two who write an entry in the place of the same one the second is told.
func TestReplace(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	kv, err := b.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := records.Replace(t.Context(), kv, "k", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Replace(t.Context(), kv, "k", []byte("x"), 0); !records.Overtaken(err) {
		t.Errorf("in the place of none: got %v", err)
	}
	second, err := records.Replace(t.Context(), kv, "k", []byte("2"), first)
	if err != nil || second <= first {
		t.Fatalf("got %d, %v", second, err)
	}
	if _, err := records.Replace(t.Context(), kv, "k", []byte("x"), first); !records.Overtaken(err) {
		t.Errorf("in the place of what is replaced: got %v", err)
	}
	rec, err := records.NewReader(b.JS).Entry(t.Context(), "B", "k")
	if err != nil || string(rec.Data) != "2" || rec.Seq != second {
		t.Errorf("it has %q, %d, %v", rec.Data, rec.Seq, err)
	}
	if err := kv.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := records.Replace(t.Context(), kv, "k", []byte("x"), second); !records.Overtaken(err) {
		t.Errorf("in the place of what was deleted: got %v", err)
	}
	if _, err := records.NewReader(b.JS).Entry(t.Context(), "B", "k"); !errors.Is(err, records.ErrDeleted) || !errors.Is(err, records.ErrNotFound) {
		t.Errorf("what was deleted: got %v", err)
	}
	if _, err := records.Replace(t.Context(), kv, "k", []byte("3"), 0); err != nil {
		t.Errorf("made again: %v", err)
	}
	if _, err := records.Replace(t.Context(), kv, "not a key", nil, 0); err == nil || records.Overtaken(err) {
		t.Errorf("under what is no key: got %v", err)
	}
}
