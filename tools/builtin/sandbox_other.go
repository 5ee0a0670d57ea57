//go:build !linux

package builtin

import "runtime"

// SandboxMain does nothing: only Linux has a sandbox.
func SandboxMain() {}

// Sandboxed reports that commands run without a sandbox, and why.
func Sandboxed() (bool, string) { return false, "there is none for " + runtime.GOOS }
