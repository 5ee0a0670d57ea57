//go:build unix

package lockfile

import (
	"os"

	"golang.org/x/sys/unix"
)

const errWouldBlock = unix.EWOULDBLOCK

// lock does not wait; the lock ends when f is closed.
func lock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// lockShared is lock beside others that only read.
func lockShared(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
}
