//go:build long

package chaos_test

import "syscall"

// dieWithParent has the kernel kill a child whose test was killed itself.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
