package exec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

const (
	// longestLine of the program's output is taken: no NATS message is longer.
	longestLine = 65 << 20
	// longestSaid is how much of a line is logged.
	longestSaid = 2000
	// drainFor is how long what a dead program wrote is still read: a helper that
	// left its process group may hold the output open for ever.
	drainFor = 2 * time.Second
)

// A process is one run of the program. It leads a process group of its own, so that
// it goes with all its helpers, and a signal for the host from a terminal does not
// reach it. On Linux it is killed when the host dies.
type process struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	read *bufio.Reader
	said *stderr
	done chan struct{} // closed when it and its group are gone
	err  error         // how it ended; to be read after done
}

func startProcess(cfg settings.Exec, log zerolog.Logger) (*process, error) {
	name := cfg.Command[0]
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", name, err)
	}
	defer func() { _ = childIn.Close() }()
	out, childOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("start %q: %w", name, err)
	}
	defer func() { _ = childOut.Close() }()
	p := &process{in: in, out: out, read: bufio.NewReaderSize(out, 64<<10), said: &stderr{log: log}, done: make(chan struct{})}
	p.cmd = exec.Command(name, cfg.Command[1:]...) //nolint:noctx // it is stopped in words first
	p.cmd.Env = environment(cfg.Env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.said
	p.cmd.WaitDelay = drainFor
	ownGroup(p.cmd)
	started := make(chan error)
	go p.run(started) // until done, which its talk waits for
	if err := <-started; err != nil {
		p.close()
		return nil, fmt.Errorf("start %q: %w", name, err)
	}
	return p, nil
}

// run starts the process and waits for its end, on one thread: on Linux a process that is to
// die with the host does so with the thread that has started it.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.wait()
	}
}

// wait reaps the process and kills what it leaves behind.
func (p *process) wait() {
	err := p.cmd.Wait()
	killGroup(p.cmd.Process)
	_ = p.out.SetReadDeadline(time.Now().Add(drainFor))
	name := p.cmd.Args[0]
	switch last := p.said.end(); {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		err = fmt.Errorf("%s has ended", name)
	case last != "":
		err = fmt.Errorf("%s has ended: %w: %s", name, err, last)
	default:
		err = fmt.Errorf("%s has ended: %w", name, err)
	}
	p.err = err
	close(p.done)
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

func (p *process) close() {
	_ = p.in.Close()
	_ = p.out.Close()
}

// readLine reads the next line. One that is too long is cut: it is no message
// then.
func (p *process) readLine() ([]byte, error) {
	var text []byte
	for {
		part, err := p.read.ReadSlice('\n')
		if len(text) < longestLine {
			text = append(text, part...)
		}
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// A stderr logs what the program says there, line by line.
type stderr struct {
	log zerolog.Logger

	mu   sync.Mutex
	part []byte // the line so far
	last string
}

// Write never fails.
func (s *stderr) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, data...)
	for {
		text, rest, found := bytes.Cut(s.part, []byte("\n"))
		if !found && len(s.part) < longestSaid {
			return len(data), nil
		}
		s.say(text)
		s.part = append([]byte(nil), rest...)
	}
}

func (s *stderr) say(text []byte) {
	if words := printable(text); words != "" {
		s.last = words
		s.log.Info().Str("line", words).Msg("the program says")
	}
}

// end is the last line, ended or not.
func (s *stderr) end() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(s.part)
	s.part = nil
	return s.last
}

func printable(text []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(text[:min(len(text), longestSaid)])), "\uFFFD")
}

// inherited are the variables that every program gets. The rest of the host's
// environment may hold keys that are not for it.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "LANG", "LC_ALL", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"APPDATA", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "WINDIR",
}

func environment(env map[string]string) []string {
	var list []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
