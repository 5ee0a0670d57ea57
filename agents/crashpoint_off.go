//go:build !crashtest

package agents

// crashpoint marks a place at which tests of the crash table kill the process;
// here it is nothing.
func crashpoint(string) {}

func stallpoint(string) {}
