//go:build unix && !linux

package process

// KillChildren kills nothing: the children of a process are found on Linux only.
func (p *Process) KillChildren(string) int { return 0 }
