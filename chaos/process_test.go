//go:build unix && long

package chaos_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A process is a child of the test that may be started and killed many times.
// All its lives write to one log.
type process struct {
	t    testing.TB
	name string
	log  string
	args []string
	env  []string // besides that of the test

	cmd    *exec.Cmd
	exited chan struct{}
	pid    atomic.Int64 // for other goroutines
}

// newProcess makes a process of a command line. It is killed when the test
// ends, and the end of its log is printed when the test failed.
func newProcess(t testing.TB, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, args: args}
	p.log = filepath.Join(t.TempDir(), name+".log")
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, p.tail(30))
		}
	})
	return p
}

// start begins a life; env is for this one only.
func (p *process) start(env ...string) {
	p.t.Helper()
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(append(os.Environ(), p.env...), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	p.cmd, p.exited = cmd, exited
	p.pid.Store(int64(cmd.Process.Pid))
}

// kill ends the process as kill -9 does and returns when it is gone.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// signal sends sig; to a process that is gone it does nothing.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// awaitExit waits for the end of the process and returns its exit code, -1
// when a signal ended it.
func (p *process) awaitExit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("%s has not ended within %v", p.name, within)
		return 0
	}
}

// logged reports whether the log contains words.
func (p *process) logged(words string) bool {
	data, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	return bytes.Contains(data, []byte(words))
}

// count is how often the log contains words; 0 before the first life.
func (p *process) count(words string) int {
	data, err := os.ReadFile(p.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return bytes.Count(data, []byte(words))
}

func (p *process) tail(lines int) []byte {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	all := slices.DeleteFunc(bytes.Split(bytes.TrimSpace(data), []byte("\n")), func(line []byte) bool {
		return bytes.Contains(line, []byte("[INF]")) // what nats-server says of itself
	})
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
