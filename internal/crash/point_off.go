//go:build !crashtest

package crash

// Point marks a place at which tests of the crash table kill the process;
// here it is nothing.
func Point(string) {}

// Stall marks a place at which tests have a goroutine stay; here it is nothing.
func Stall(string) {}
