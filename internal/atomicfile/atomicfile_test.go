package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"one", "another"} {
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if string(got) != text || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	wantOnly(t, dir, "a")
}

// What cannot be put into its place, or is not to be, leaves nothing behind.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "a"), []byte("text"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	f, err := atomicfile.New(filepath.Join(dir, "c"), []byte("text"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	wantOnly(t, dir, "a")
}

func wantOnly(t *testing.T, dir, name string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != name {
		t.Errorf("got %v, %v, want %s", list, err, name)
	}
}
