package lockfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/lockfile"
)

func TestLockNameOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "one.lock")); err != nil {
		t.Fatal(err)
	}
	_, err := lockfile.Name(dir, "one")
	bustest.WantError(t, err, "lock:", "one.lock")
}
