package diskuse_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agenthost/internal/diskuse"
)

func put(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
}

func of(t *testing.T, dir string) int64 {
	t.Helper()
	used, err := diskuse.Of(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestOf(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, filepath.Join(outside, "big"), 50<<20)
	for link, to := range map[string]string{"folder": outside, "file": filepath.Join(outside, "big"), "nothing": "/none"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	empty := of(t, dir)
	if empty < 4*4096 || empty > 1<<20 {
		t.Errorf("three links: got %d", empty)
	}
	put(t, filepath.Join(dir, "a/b/c"), 3<<20)
	if more := of(t, dir) - empty; more < 3<<20 || more > 4<<20 {
		t.Errorf("a file of 3 MB: got %d more", more)
	}
}

func TestOfEmptyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 1000 {
		put(t, filepath.Join(dir, fmt.Sprint(i)), 0)
	}
	if used := of(t, dir); used < 1000*4096 {
		t.Errorf("got %d", used)
	}
}

// A folder that is closed hides nothing, for who is not root.
func TestOfAClosedFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "closed/deep/file"), 3<<20)
	for _, closed := range []string{"closed/deep", "closed"} {
		if err := os.Chmod(filepath.Join(dir, closed), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // for who removes it
		for _, opened := range []string{"closed", "closed/deep"} {
			_ = os.Chmod(filepath.Join(dir, opened), 0o700)
		}
	})
	if used := of(t, dir); used < 3<<20 {
		t.Errorf("got %d", used)
	}
	if info, err := os.Stat(filepath.Join(dir, "closed")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

// Files come and go while it looks.
func TestOfAFolderThatChanges(t *testing.T) {
	dir, quit := t.TempDir(), make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
				sub := filepath.Join(dir, fmt.Sprint(i%7))
				put(t, filepath.Join(sub, "x", "y"), 10)
				if err := os.RemoveAll(sub); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 300 {
		of(t, dir)
	}
	close(quit)
	busy.Wait()
}

func TestOfNothing(t *testing.T) {
	if _, err := diskuse.Of(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("got no error")
	}
}

func TestOfStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diskuse.Of(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkOf(b *testing.B) {
	dir := b.TempDir()
	for i := range 10000 {
		sub := filepath.Join(dir, fmt.Sprint(i/100))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := diskuse.Of(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
