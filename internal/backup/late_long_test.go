//go:build long

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
