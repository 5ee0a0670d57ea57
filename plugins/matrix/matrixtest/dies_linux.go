package matrixtest

import "syscall"

// diesWithTest has the homeserver killed when the test is.
func diesWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
