package bus_test

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
)

func TestLockNameOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "one.lock")); err != nil {
		t.Fatal(err)
	}
	_, err := bus.LockName(dir, "one")
	bustest.WantError(t, err, "lock:", "one.lock")
}
