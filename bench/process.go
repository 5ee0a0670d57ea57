package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A process is one that is measured. What it says until it is ready, and its
// last words, are known.
type process struct {
	name    string // of a host of several
	cmd     *exec.Cmd
	stdin   io.Closer
	started time.Time
	ready   time.Duration // from start
	url     string        // that it told when it was ready
	done    chan struct{} // closed when it says nothing more
	last    string        // its last line; read it after done
}

// readyWithin is what a process gets to be ready.
const readyWithin = 2 * time.Minute

// endWithin is what a process gets to end before it is killed.
const endWithin = 15 * time.Second

// A readiness finds in a line that a process is ready, and where its NATS is.
type readiness func(line string) (url string, ok bool)

// startProcess starts a program and returns when ready finds, in a line of its
// standard error, that it is.
func startProcess(ctx context.Context, ready readiness, env []string, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...), done: make(chan struct{})}
	p.cmd.Env = append(plainEnv(), env...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = endWithin
	words, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil { // ends with this process, whatever becomes of it
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	up := make(chan string, 1)
	go p.listen(words, func(line string) {
		if url, ok := ready(line); ok {
			p.ready = time.Since(p.started)
			up <- url
		}
	})
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case p.url = <-up:
		return p, nil
	case <-late.C:
		p.stop()
		return nil, fmt.Errorf("start %s: it was not ready within %s; its last words: %s", program, readyWithin, p.last)
	case <-p.done:
		_ = p.cmd.Wait()
		return nil, fmt.Errorf("start %s: it ended before it was ready: %s", program, p.last)
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	}
}

// plainEnv is the environment without what leads to the NATS of the user.
func plainEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NATS_") {
			env = append(env, v)
		}
	}
	return env
}

func (p *process) listen(words io.Reader, line func(string)) {
	defer close(p.done)
	for s := bufio.NewScanner(words); s.Scan(); {
		p.last = s.Text()
		line(p.last)
	}
	_, _ = io.Copy(io.Discard, words) // after a line that is too long
}

// stop ends the process and waits until it has.
func (p *process) stop() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.cmd.Process.Kill()
	}
	kill := time.AfterFunc(endWithin, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.done
	_ = p.cmd.Wait() // how it ends is not what is measured
}
