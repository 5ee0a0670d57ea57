package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// lineFile is the helper's end of the connection to the host.
const lineFile = 3

// help runs the command of an spec, and ends with all that it has started. It
// returns only with an error: a command is never run with more rights than it
// should have.
//
// The process itself stays outside of what the command is confined to, so that the command
// cannot signal it and escape its own end.
func help(args []string) error {
	s, err := parseSpec(args)
	if err != nil {
		return err
	}
	line, err := hostLine()
	if err != nil {
		return err
	}
	// The host signals the whole process group; only the command is to end by that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	if err := s.prepare(); err != nil {
		return err
	}
	c := newChildren(s)
	if err := c.start(); err != nil {
		return err
	}
	go func() {
		_, _ = line.Read(make([]byte, 1)) // until the host has had enough, or is dead
		c.stop()
	}()
	status, left := c.wait()
	fmt.Fprintln(line, uint32(status), left)
	syscall.Exit(0) // at once: there is nothing to clean up, and the host waits
	return nil
}

func hostLine() (*os.File, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(lineFile, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errors.New("there is no connection to the host")
	}
	unix.CloseOnExec(lineFile)
	return os.NewFile(lineFile, "host"), nil
}

// prepare does what concerns the whole process.
func (s spec) prepare() error {
	if err := limitUse(s.seconds, s.fileSize); err != nil {
		return err
	}
	if s.level.namespaces() {
		if err := enterTree(s); err != nil {
			return err
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	// Its memory and its open files are none of the command's business.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide memory: %w", err)
	}
	return nil
}

// confine takes from this thread, and from what it starts, what a command is
// not to have.
func (s spec) confine() error {
	if err := dropCapabilities(s.level); err != nil {
		return err
	}
	if err := restrictFiles(s); err != nil {
		return err
	}
	return restrictCalls(s)
}

// startShell starts the shell, confined. The caller has to keep this thread, which may signal
// what runs of the command: the shell is killed when it ends.
func (s spec) startShell() (pid int, err error) {
	runtime.LockOSThread()
	program, args := "/bin/sh", s.shell()
	if s.sweeps() {
		// Landlock lets a command signal what is confined as it is, a thread of this process too.
		// So the shell confines itself once more, below this thread.
		err, program, args = confineSignals(), "/proc/self/exe", append([]string{shellName}, s.arguments()...)
	} else {
		err = s.confine()
	}
	if err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(program, args, &syscall.ProcAttr{
		Dir: s.dir, Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", program, err)
	}
	return pid, nil
}

func (s spec) shell() []string { return []string{"sh", "-c", "--", s.text} }

// becomeShell confines this process and runs the command of a spec in its place. It returns
// only with an error.
func becomeShell(args []string) error {
	s, err := parseSpec(args)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the one that is confined becomes the shell
	if err := s.confine(); err != nil {
		return err
	}
	return fmt.Errorf("start /bin/sh: %w", syscall.Exec("/bin/sh", s.shell(), os.Environ()))
}
