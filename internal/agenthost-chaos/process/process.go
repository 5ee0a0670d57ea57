//go:build unix

// Package process runs children that are started and killed many times.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A Process is a child that may live many times. All its lives write to one
// log. Its methods are safe for concurrent use.
type Process struct {
	Name string
	Log  string   // file
	Args []string // command line
	Env  []string // besides that of this process
	Dir  string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start begins a life. One that has not ended is left alone.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		select {
		case <-p.exited:
		default:
			return nil
		}
	}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer func() { _ = out.Close() }() // the child has its own
	cmd := exec.CommandContext(context.Background(), p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Dir = p.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	p.cmd, p.exited = cmd, exited
	return nil
}

// Signal sends sig; to a process that has ended it does nothing.
func (p *Process) Signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig)
	}
}

// Kill ends the process as kill -9 does, and returns when it has ended.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Exited()
}

// Exited is closed when the present life has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return p.exited
}

// PID is that of the present life, 0 before the first.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Count is how often the log has words.
func (p *Process) Count(words string) int {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return 0 // it has not begun
	}
	return bytes.Count(data, []byte(words))
}
