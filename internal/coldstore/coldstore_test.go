package coldstore_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/coldstore"
	"agenthost/internal/lockfile"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go/jetstream"
)

// stored is the folder of an embedded server with a stream of three messages, and
// the host's bus, which still has it open.
func stored(t *testing.T) (folder string, b *bus.Bus) {
	t.Helper()
	cfg := bustest.Config(t)
	b, err := natsserver.Open(t.Context(), bus.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for _, name := range []string{"SESSIONS", "OTHER"} {
		_, err = b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{strings.ToLower(name) + ".>"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.JS.CreateConsumer(t.Context(), "SESSIONS", jetstream.ConsumerConfig{Durable: "c"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := b.JS.Publish(t.Context(), fmt.Sprintf("sessions.%d", i), []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	return cfg.Embedded.Store, b
}

// sums are the files of a folder by what is in them.
func sums(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func copies(t *testing.T, temp string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(temp, "agenthost-store-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestStoreIsReadAndNotTouched(t *testing.T) {
	temp := t.TempDir()
	folder, b := stored(t)
	t.Setenv("TMPDIR", temp)
	b.Close()
	before := sums(t, folder)
	s, err := coldstore.Open(folder, "SESSIONS", "NONE")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.JS.Stream(t.Context(), "SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State; got.Msgs != 3 || got.Consumers != 0 {
		t.Errorf("got %d messages, %d consumers; want 3, 0", got.Msgs, got.Consumers)
	}
	if _, err := s.JS.Stream(t.Context(), "OTHER"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a stream that is not named: got %v", err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := copies(t, temp); n != 1 {
		t.Errorf("got %d copies, want 1", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := sums(t, folder); after != before {
		t.Errorf("the store was changed:\n%s\nbefore:\n%s", after, before)
	}
	if n := copies(t, temp); n != 0 {
		t.Errorf("%d copies are left", n)
	}
}

// What a pattern has a meaning for may stand in the name of a folder.
func TestStoreInAFolderWithBrackets(t *testing.T) {
	folder, b := stored(t)
	b.Close()
	named := filepath.Join(t.TempDir(), "shop [old]")
	if err := os.CopyFS(named, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	s, err := coldstore.Open(named, "SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.JS.Stream(t.Context(), "SESSIONS"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStoreOfARunningHostIsRefused(t *testing.T) {
	folder, _ := stored(t)
	_, err := coldstore.Open(folder, "SESSIONS")
	if !errors.Is(err, lockfile.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d; leave --store out", os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

func TestFolderThatIsNoStore(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := coldstore.Open(folder, "SESSIONS"); !errors.Is(err, coldstore.ErrNone) {
			t.Errorf("%s: got %v", folder, err)
		}
	}
	if _, err := coldstore.Open(file, "SESSIONS"); err == nil {
		t.Error("a file: got no error")
	}
	if n := copies(t, temp); n != 0 {
		t.Errorf("%d copies are left", n)
	}
}

// What cannot be read of a store that broke is missing, and does not hang.
func TestBrokenStore(t *testing.T) {
	folder, b := stored(t)
	b.Close()
	blocks, err := filepath.Glob(filepath.Join(folder, "jetstream", "*", "streams", "SESSIONS", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no blocks: %v", err)
	}
	for _, block := range blocks {
		if err := os.WriteFile(block, []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := coldstore.Open(folder, "SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.JS.Stream(t.Context(), "SESSIONS"); err != nil {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
