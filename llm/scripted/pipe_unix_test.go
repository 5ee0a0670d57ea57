//go:build unix

package scripted_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/llm/scripted"
)

// To open a pipe waits for its writer.
func TestLoadOfAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "script.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	want := `script.yaml": it is a pipe or a device; want a file`
	if _, err := scripted.Load(pipe); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want … %s", err, want)
	}
}
