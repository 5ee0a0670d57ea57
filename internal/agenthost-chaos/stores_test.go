//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agenthost/internal/agenthost-chaos/process"
)

// A disk has room until it is full, and again when that is over. Who may not mount one is told so.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	d, err := mountDisk(dir)
	if err != nil {
		if !strings.Contains(err.Error(), "mount") {
			t.Errorf("got %v, want that it cannot be mounted", err)
		}
		return
	}
	defer func() {
		if err := d.unmount(); err != nil {
			t.Error(err)
		}
	}()
	write := func() error { return os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1<<20), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := d.fill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want no space", err)
	}
	if err := d.free(); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Error(err)
	}
}

// Where no disk can be mounted, the other faults are done.
func TestFullDiskIsLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fleet{nodes: []*node{{store: filepath.Join(file, "store")}}}
	chosen := []string{"cut", "node-full", "reset"}
	if got := f.mount(chosen); !slices.Equal(got, []string{"cut", "reset"}) || f.disk != nil {
		t.Errorf("got %q and the disk %v", got, f.disk)
	}
	if got := f.mount([]string{"cut"}); !slices.Equal(got, []string{"cut"}) {
		t.Errorf("got %q, want what was chosen", got)
	}
}

// The newest block of a stream is damaged, and nothing else.
func TestDamage(t *testing.T) {
	notes, err := os.Create(filepath.Join(t.TempDir(), "faults.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = notes.Close() }()
	h := &harness{notes: notes}
	n := &node{Process: &process.Process{Name: "node-0"}, store: t.TempDir()}
	d := &dice{target: 0}
	if err := h.damage(n, d, nil); err == nil {
		t.Error("got no error where there is nothing to damage")
	}
	msgs := filepath.Join(n.store, "jetstream", "A", "streams", ledStreams[0], "msgs")
	if err := os.MkdirAll(msgs, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"9.blk", "10.blk", "index.db"} {
		if err := os.WriteFile(filepath.Join(msgs, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.damage(n, d, func(data []byte) []byte { return data[:2] }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"9.blk": "9.blk", "10.blk": "10", "index.db": "index.db"} {
		if got, err := os.ReadFile(filepath.Join(msgs, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}
