//go:build !linux

package sandbox

import (
	"os/exec"
	"runtime"
)

// Main does nothing: only Linux has a sandbox.
func Main() {}

// Check reports that commands are not confined, and why.
func Check() Protection { return Protection{Layers: "there is no sandbox for " + runtime.GOOS} }

// Strongest is no level: there is none.
func Strongest() Level { return "" }

// A helper is the helper of the sandbox, which only Linux has.
type helper struct{}

func (Command) confine(*exec.Cmd) (*helper, error) { return nil, nil }

func (*helper) started() {}

func (*helper) stop() {}

func (*helper) close() {}

func (*helper) report() (Result, bool) { return Result{}, false }
