package bus

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
