package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/internal/cli"
)

// A configuration that there was no room for is not found by the next try.
func TestInitOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skip(err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(dir, "else"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	_, stderr := call(t, cli.CodeFailed, "", "init", "--model", "echo")
	if !strings.Contains(stderr, "write configuration: ") {
		t.Errorf("got %s", stderr)
	}
	if _, err := os.Stat(cli.DefaultConfig); err == nil {
		t.Error("an empty configuration is left behind")
	}
}

// What a file has no room for is not done.
func TestResultIntoAFullFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"config show", "config show --json", "nats-permissions --for cli", "version", "schema", "heartbeat --dry-run", "doctor --offline", "--help"} {
		t.Run(line, func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close()
			var stderr bytes.Buffer
			code := execute(t.Context(), strings.Fields(line), strings.NewReader(""), full, &stderr)
			if code != cli.CodeFailed || strings.Count(stderr.String(), "no space left on device") != 1 {
				t.Errorf("exit code %d, %s", code, stderr.String())
			}
		})
	}
}
