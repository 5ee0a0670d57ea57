package childprocess

import "syscall"

// diesWithHost has a process killed when the thread ends that has started it.
func diesWithHost(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
