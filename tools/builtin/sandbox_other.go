//go:build !linux

package builtin

import (
	"os/exec"
	"runtime"
)

// SandboxMain does nothing: only Linux has a sandbox.
func SandboxMain() {}

// Sandboxed reports that commands are not confined, and why.
func Sandboxed() Protection { return Protection{Layers: "there is no sandbox for " + runtime.GOOS} }

func sandboxLevel() level { return "" }

// A keeper is the helper of the sandbox, which only Linux has.
type keeper struct{}

func (shell) confine(*exec.Cmd) (*keeper, error) { return nil, nil }

func (*keeper) started() {}

func (*keeper) stop() {}

func (*keeper) close() {}

func (*keeper) report() (ending, bool) { return ending{}, false }
