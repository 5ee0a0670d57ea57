//go:build !linux && !darwin

package natsserver

// DiskLeft is not known here.
func DiskLeft(string) (left uint64, known bool) { return 0, false }
