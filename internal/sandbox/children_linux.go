package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// children are the processes of a command. All of them are, or become when
// their parent dies, children of the helper: it is the first process of their
// namespace, or their subreaper.
type children struct {
	spec  spec
	shell int
	// sweep asks the thread that started the shell to kill all that landlock lets it
	// signal: everything of the command, and nothing else.
	sweep chan chan<- struct{}

	mu       sync.Mutex // held where a process is reaped or killed, so that its number is its own
	stopping bool
}

func newChildren(s spec) *children {
	return &children{spec: s, sweep: make(chan chan<- struct{})}
}

func (c *children) start() error {
	started := make(chan error)
	go func() {
		var err error
		c.shell, err = c.spec.startShell()
		started <- err
		for done := range c.sweep {
			_ = unix.Kill(-1, unix.SIGKILL) // that none is left is as good
			close(done)
		}
	}()
	return <-started
}

// wait returns how the shell ended, when nothing of the command is left, and
// how many processes had to be killed for that.
func (c *children) wait() (status syscall.WaitStatus, left int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil); errors.Is(err, unix.EINTR) {
			continue
		}
		pid, now, err := c.reap()
		switch {
		case err != nil: // no child is left
			return status, left
		case pid == c.shell:
			status = now
			c.stop()
		case now.Signaled() && now.Signal() == syscall.SIGKILL && c.isStopping():
			left++
			c.stop() // its children are now ours
		case c.isStopping():
			c.stop()
		}
	}
}

func (c *children) reap() (pid int, status syscall.WaitStatus, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	return pid, status, err
}

func (c *children) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// stop kills what runs of the command, but for what is forked meanwhile by
// processes that are not children yet: wait comes back for those.
func (c *children) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		return // the usual end
	}
	switch {
	case c.spec.level.namespaces():
		_ = unix.Kill(-1, unix.SIGKILL) // all of the namespace but its first process
		return
	case c.spec.sweeps():
		done := make(chan struct{})
		c.sweep <- done
		<-done
	}
	for _, pid := range direct() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// direct are the numbers of the processes whose parent this process is.
func direct() []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name, which may have spaces and parentheses) state parent …
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			found = append(found, pid)
		}
	}
	return found
}
