//go:build unix

package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// untilNotTaken calls do once nothing reads any more what is written to out, a pipe. It
// waits for as long as the process lives.
func untilNotTaken(out io.Writer, do func()) {
	file, ok := out.(*os.File)
	if !ok {
		return
	}
	fd := int32(file.Fd()) //nolint:gosec // those of a process are small
	go func() {
		for {
			switch n, err := unix.Poll([]unix.PollFd{{Fd: fd}}, -1); {
			case errors.Is(err, unix.EINTR):
			case err == nil && n > 0:
				do()
				return
			default:
				return
			}
		}
	}()
}
