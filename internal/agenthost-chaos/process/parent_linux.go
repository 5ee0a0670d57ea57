package process

import "syscall"

// dieWithParent has the kernel kill a child whose parent was killed itself.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
