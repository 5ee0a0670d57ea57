package backup_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/backup"

	"github.com/nats-io/nats.go/jetstream"
)

// An entry that is replaced before its turn is missing in the snapshot of the server; the
// backup has it as it is then.
func TestEntryThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	bustest.Provision(t, from)
	kv, err := from.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 700<<10) // together beyond what the server sends at once
	_, _ = rand.Read(large)
	for i := range 30 {
		if _, err := kv.Put(t.Context(), fmt.Sprintf("k%02d", i), large); err != nil {
			t.Fatal(err)
		}
	}
	replaced := false
	replace := func(p backup.Progress) {
		if p.Stream != "KV_"+bus.MemoryBucket || p.Bytes == 0 || replaced {
			return
		}
		replaced = true
		for _, key := range []string{"k28", "k29", "fresh"} {
			if _, err := kv.Put(t.Context(), key, []byte("new")); err != nil {
				t.Error(err)
			}
		}
	}
	folder := filepath.Join(t.TempDir(), "b")
	m, err := backup.Write(t.Context(), from, folder, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream == "KV_"+bus.MemoryBucket && p.Bytes > 1<<20 { // a part of it is here
			replace(p)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(m.Streams, func(s backup.Stream) bool { return s.Name == "KV_"+bus.MemoryBucket }); m.Streams[i].Late == nil {
		t.Fatal("nothing was replaced while the bucket was copied")
	}
	to := restoredFrom(t, folder)
	notes, err := to.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		key := fmt.Sprintf("k%02d", i)
		e, err := notes.Get(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if now, err := kv.Get(t.Context(), key); err != nil || now.Revision() != e.Revision() || !slices.Equal(now.Value(), e.Value()) {
			t.Errorf("%s is revision %d with %d bytes", key, e.Revision(), len(e.Value()))
		}
	}
}

func restoredFrom(t *testing.T, folder string) jetstream.JetStream {
	t.Helper()
	to := bustest.Open(t).JS
	if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	return to
}

// A file that a message brings while the backup is made is there with the message, also
// when it is the first one.
func TestFileThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	bustest.Provision(t, from)
	files, err := from.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 400<<10)
	_, _ = rand.Read(content)
	put := false
	folder := filepath.Join(t.TempDir(), "b")
	_, err = backup.Write(t.Context(), from, folder, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream != bus.SessionsStream || put {
			return
		}
		put = true
		if _, err := files.PutBytes(t.Context(), "f", content); err != nil {
			t.Error(err)
		}
		bustest.Publish(t, from, "plugin.inbound.web", `{"id":"m","media":[{"object":"f"}]}`)
		bustest.Publish(t, from, "agent.route.ana", "a task that comes after its stream is copied")
	}})
	if err != nil {
		t.Fatal(err)
	}
	to := restoredFrom(t, folder)
	if got := len(messagesOf(t, to)); got != 1 {
		t.Fatalf("got %d messages, want 1", got)
	}
	restored, err := to.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := restored.GetBytes(t.Context(), "f"); err != nil || !slices.Equal(got, content) {
		t.Errorf("file: %d bytes, %v", len(got), err)
	}
	// What the log may know by its sequence gets no namesake.
	if ack, err := to.Publish(t.Context(), "agent.route.ana", []byte("next")); err != nil || ack.Sequence != 2 {
		t.Errorf("the next task: got %v, %v; want sequence 2", ack, err)
	}
}
