//go:build unix && !linux && long

package chaos_test

import "syscall"

// dieWithParent is only known to Linux; elsewhere the cleanup of the test has
// to do.
func dieWithParent() *syscall.SysProcAttr { return nil }
