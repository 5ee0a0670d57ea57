package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/lockfile"
)

func TestLockName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	release, err := lockfile.Name(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockfile.Name(dir, "one")
	bustest.WantError(t, err, `host name "one"`, "process "+strconv.Itoa(os.Getpid()), "--name")
	if !errors.Is(err, lockfile.ErrLocked) {
		t.Errorf("got %v, want it to wrap %v", err, lockfile.ErrLocked)
	}
	if err := os.Truncate(filepath.Join(dir, "one.lock"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = lockfile.Name(dir, "one")
	bustest.WantError(t, err, "another process")

	other, err := lockfile.Name(dir, "two")
	if err != nil {
		t.Errorf("another name: %v", err)
	} else {
		other()
	}
	release()
	again, err := lockfile.Name(dir, "one")
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	again()
}

func TestLockNameRefuses(t *testing.T) {
	file := bustest.WriteFile(t, "file", "")
	tests := map[string]struct{ dir, name, want string }{
		"no name":          {t.TempDir(), "", `""`},
		"a path":           {t.TempDir(), "../one", `"../one"`},
		"folder is a file": {file, "one", "not a directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := lockfile.Name(tt.dir, tt.name)
			bustest.WantError(t, err, tt.want)
		})
	}
}

func TestAwaitLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		lock := func() (func(), error) { return lockfile.Name(dir, "one") }
		release, err := lock()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lockfile.Await(t.Context(), lock); !errors.Is(err, lockfile.ErrLocked) {
			t.Errorf("of a process that lives: got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := lockfile.Await(ctx, lock); !errors.Is(err, lockfile.ErrLocked) {
			t.Errorf("stopped: got %v", err)
		}
		time.AfterFunc(time.Second, release)
		again, err := lockfile.Await(t.Context(), lock)
		if err != nil {
			t.Fatalf("of a process that dies: %v", err)
		}
		again()
		if _, err := lockfile.Await(t.Context(), func() (func(), error) { return lockfile.Name(dir, "a/b") }); err == nil {
			t.Error("a bad name: got no error")
		}
	})
}
