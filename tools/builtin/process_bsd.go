//go:build unix && !linux

package builtin

import "syscall"

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// killStrays finds none: other systems do not show the environment of a process.
func killStrays(int, string) int { return 0 }
