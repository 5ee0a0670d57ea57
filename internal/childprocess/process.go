// Package childprocess starts programs that the host talks to by their standard input and
// output. A program leads a process group of its own, so that it goes with all its helpers,
// and a signal for the host from a terminal does not reach it. On Linux it is killed when the
// host dies.
package childprocess

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A Config is what to start.
type Config struct {
	Command []string
	Env     map[string]string // beside the variables that every program gets
	Says    func(line string) // gets what it writes on its standard error; nil: it is not wanted
	// Drain is how long what a dead program wrote is still read: a helper that left its process
	// group may hold the output open for ever.
	Drain time.Duration
}

// A Process is one run of a program.
type Process struct {
	In  *os.File // what it reads
	Out *os.File // what it writes

	cmd  *exec.Cmd
	said said
	done chan struct{}
	err  error // how it ended; to be read after done
}

// Start starts a program. Its pipes have to be closed, by Close.
func Start(c Config) (*Process, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("no command")
	}
	p := &Process{said: said{each: c.Says}, done: make(chan struct{})}
	if err := p.start(c); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Command[0], err)
	}
	return p, nil
}

func (p *Process) start(c Config) error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = childIn.Close() }()
	out, childOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return err
	}
	defer func() { _ = childOut.Close() }()
	p.In, p.Out = in, out
	p.cmd = exec.Command(c.Command[0], c.Command[1:]...) //nolint:noctx // Stop ends it, and gently
	p.cmd.Env = environment(c.Env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, &p.said
	p.cmd.WaitDelay = c.Drain
	ownGroup(p.cmd)
	started := make(chan error)
	go p.run(started, c.Drain) // until done
	if err := <-started; err != nil {
		p.Close()
		return err
	}
	return nil
}

// run starts the process and waits for its end, on one thread: on Linux a process that is to
// die with the host does so with the thread that has started it.
func (p *Process) run(started chan<- error, drain time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.wait(drain)
	}
}

// wait reaps the process and kills what it leaves behind.
func (p *Process) wait(drain time.Duration) {
	err := p.cmd.Wait()
	killGroup(p.cmd.Process)
	_ = p.Out.SetReadDeadline(time.Now().Add(drain))
	if !errors.Is(err, exec.ErrWaitDelay) {
		p.err = err
	}
	close(p.done)
}

// Done is closed when the program and its group are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended says how the program of that name has ended, with the last line that it wrote on its
// standard error. It may be asked after Done.
func (p *Process) Ended(name string) error {
	switch last := p.said.lastLine(); {
	case p.err == nil:
		return fmt.Errorf("%s has ended", name)
	case last != "":
		return fmt.Errorf("%s has ended: %w: %s", name, p.err, last)
	default:
		return fmt.Errorf("%s has ended: %w", name, p.err)
	}
}

// EndsWithin waits for the end.
func (p *Process) EndsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// Stop ends the program: it has a while to end by itself, then one to end when it is asked
// to, by TERM.
func (p *Process) Stop(byItself, asked time.Duration) {
	if p.EndsWithin(byItself) {
		return
	}
	terminateGroup(p.cmd.Process)
	if !p.EndsWithin(asked) {
		p.Kill()
	}
}

// Kill kills the program and its group.
func (p *Process) Kill() { killGroup(p.cmd.Process) }

// Close closes the pipes to the program.
func (p *Process) Close() {
	_ = p.In.Close()
	_ = p.Out.Close()
}
