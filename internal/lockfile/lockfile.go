// Package lockfile keeps two processes from being one host and from opening one
// store. A lock ends with its process, however that ends.
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrLocked is wrapped by the refusal of a store, or of a host's name, that
// another process uses.
var ErrLocked = errors.New("in use")

// A process that was killed a moment ago still has its locks. lockWithin is long
// enough for a busy machine to end it.
const (
	lockWithin = 3 * time.Second
	lockEvery  = 20 * time.Millisecond
)

// Await calls lock until it fails with another error than ErrLocked, for three
// seconds at most.
func Await(ctx context.Context, lock func() (release func(), err error)) (release func(), err error) {
	end := time.Now().Add(lockWithin)
	for {
		release, err := lock()
		if !errors.Is(err, ErrLocked) || !time.Now().Before(end) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockEvery):
		}
	}
}

// CheckName refuses what can be no name of a host.
func CheckName(name string) error {
	if name == "" || name != filepath.Base(name) || strings.ContainsFunc(name, unicode.IsSpace) {
		return fmt.Errorf("%q: want one without slashes and spaces", name)
	}
	return nil
}

// Name makes sure that one process only is the host called name among
// those that share the folder dir. The lock ends with release, or with the
// process, however it ends.
func Name(dir, name string) (release func(), err error) {
	if err := CheckName(name); err != nil {
		return nil, fmt.Errorf("host name %w", err)
	}
	release, err = lockFile(filepath.Join(dir, name+".lock"))
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("host name %q is %w; stop that host, or give this one another name with --name", name, err)
	}
	return release, err
}

// Store keeps a second server out of a store: two of them lose messages.
func Store(dir string) (release func(), err error) {
	release, err = lockFile(filepath.Join(dir, "host.lock"))
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("store %q is %w; stop that process, or set nats.embedded.store to another folder, or nats.url to use its server", dir, err)
	}
	return release, err
}

// SharedStore keeps hosts from opening the store in dir while it is read, and is
// refused while one has it open. It writes nothing; a store that no host has ever
// locked needs no lock.
func SharedStore(dir string) (release func(), err error) {
	f, err := os.Open(filepath.Join(dir, "host.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := lockShared(f); err != nil {
		defer f.Close()
		if errors.Is(err, errWouldBlock) {
			return nil, fmt.Errorf("%w by %s; leave --store out to ask that host, or stop it", ErrLocked, holder(f))
		}
		return nil, fmt.Errorf("lock %q: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// StoreHint says what helps where the folder cannot be used.
const StoreHint = "; set nats.embedded.store to a folder that can be written"

// lockFile locks path and writes the process id into it. The file stays when
// the lock ends: removing it would let two processes lock two files of one name.
func lockFile(path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w%s", err, StoreHint)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w%s", err, StoreHint)
	}
	if err := lock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errWouldBlock) {
			return nil, fmt.Errorf("%w by %s", ErrLocked, holder(f))
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	return func() { f.Close() }, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder names the process that holds the lock of f.
func holder(f *os.File) string {
	data, _ := io.ReadAll(io.LimitReader(f, 32))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
		return "process " + strconv.Itoa(pid)
	}
	return "another process" // it has not written its id yet
}
