//go:build linux || darwin

package natsserver

import "syscall"

// DiskLeft is how many bytes this user may still write to the disk of dir.
func DiskLeft(dir string) (left uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
