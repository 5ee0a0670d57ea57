package lockfile

import (
	"os"

	"golang.org/x/sys/windows"
)

const errWouldBlock = windows.ERROR_LOCK_VIOLATION

// lock does not wait; the lock ends when f is closed. It covers one byte far
// behind the process id, which others want to read.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}

// lockShared is lock beside others that only read.
func lockShared(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}
