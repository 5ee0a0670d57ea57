//go:build !linux && !darwin

package host

// diskLeft is not known here.
func diskLeft(string) (left uint64, known bool) { return 0, false }
