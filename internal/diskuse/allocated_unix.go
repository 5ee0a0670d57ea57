//go:build unix

package diskuse

import (
	"io/fs"
	"syscall"
)

// allocated is what a file takes, which may be more or less than its length.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
