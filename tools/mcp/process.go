package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

const (
	// What a server gets to end when its input has ended, and when it was told to.
	inputGrace  = 2 * time.Second
	signalGrace = 500 * time.Millisecond
	// drainLimit is how long what a dead server wrote is still read: helpers that
	// left its process group may hold its output open for ever.
	drainLimit = time.Second
)

// stallLimit is how long a server may take no input before it is given up; tests set it.
var stallLimit = 5 * time.Second

// A process is a server that speaks on its standard input and output. It leads a
// process group of its own, so that it goes with all its helpers, and a signal
// for the host from a terminal does not reach it.
type process struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	said *stderrLog
	done chan struct{} // closed when it and its group are gone
	err  error         // how it ended; to be read after done
}

func overStdio(cfg tools.MCPConfig, log zerolog.Logger, heard func(junk string)) (carrier, error) {
	p, err := startProcess(cfg, &stderrLog{log: log, heard: heard})
	if err != nil {
		return carrier{}, err
	}
	said := struct {
		io.Reader
		io.Closer
	}{newLineFilter(p.out, "", p.said.leaveOut), p.out}
	transport := &sdk.IOTransport{Reader: said, Writer: stallingWriter{p.in}, MaxLineLength: longestMessage}
	return carrier{transport: notingTransport{transport}, why: p.why, junk: p.said.lastJunk, stop: p.stop}, nil
}

func startProcess(cfg tools.MCPConfig, said *stderrLog) (*process, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("neither command nor url")
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", cfg.Command[0], err)
	}
	defer func() { _ = childIn.Close() }()
	out, childOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("start %q: %w", cfg.Command[0], err)
	}
	defer func() { _ = childOut.Close() }()
	p := &process{in: in, out: out, said: said, done: make(chan struct{})}
	p.cmd = exec.Command(cfg.Command[0], cfg.Command[1:]...) //nolint:noctx // stop ends it, and gently
	p.cmd.Env = environment(cfg.Env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.said
	p.cmd.WaitDelay = drainLimit
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		return nil, fmt.Errorf("start %q: %w", cfg.Command[0], err)
	}
	go p.wait() // until done, which stop waits for
	return p, nil
}

// wait reaps the process and kills what it leaves behind.
func (p *process) wait() {
	err := p.cmd.Wait()
	killGroup(p.cmd.Process)
	_ = p.out.SetReadDeadline(time.Now().Add(drainLimit))
	switch last := p.said.lastLine(); {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("server ended")
	case last != "":
		err = fmt.Errorf("server ended: %w: %s", err, last)
	default:
		err = fmt.Errorf("server ended: %w", err)
	}
	p.err = err
	close(p.done)
}

// why is how the process ended; nil when it runs on.
func (p *process) why() error {
	if p.endsWithin(drainLimit) {
		return p.err
	}
	return nil
}

func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// stop ends the process, gently at first, and returns when it is gone.
func (p *process) stop() {
	_ = p.in.Close()
	if !p.endsWithin(inputGrace) {
		terminateGroup(p.cmd.Process)
		if !p.endsWithin(signalGrace) {
			killGroup(p.cmd.Process)
			<-p.done
		}
	}
	p.closePipes()
}

func (p *process) closePipes() {
	_ = p.in.Close()
	_ = p.out.Close()
}
