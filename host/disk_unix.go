//go:build linux || darwin

package host

import "syscall"

// diskLeft is how many bytes this user may still write to the disk of dir.
func diskLeft(dir string) (left uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
