package bustest

import (
	"os"
	"sync"
	"testing"
)

// Dir is a folder for the store of a server, which is deleted when the test ends. It
// is in memory where there is room: a store is hundreds of small files, and to make
// them on a disk takes longer than most tests.
func Dir(t testing.TB) string {
	t.Helper()
	memory := memoryDir()
	if memory == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "agenthost-test-") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("delete the store: %v", err)
		}
	})
	return dir
}

// TempInMemory makes t.TempDir a folder in memory, as Dir is. It is for the TestMain of
// packages whose tests start hosts with folders of their own.
func TempInMemory() {
	if memory := memoryDir(); memory != "" && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", memory)
	}
}

// memoryDir is a folder in memory in which programs may run; empty where there is none,
// or no room.
var memoryDir = sync.OnceValue(findMemory)
