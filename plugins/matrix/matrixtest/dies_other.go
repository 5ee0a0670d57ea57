//go:build !linux

package matrixtest

import "syscall"

// diesWithTest does nothing: the homeserver runs on Linux only.
func diesWithTest() *syscall.SysProcAttr { return nil }
