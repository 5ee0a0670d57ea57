package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A helper is the host's side of the helper process. A nil helper stands for a
// command that is a process group and no more.
type helper struct {
	ours, theirs *os.File // a connection: the helper ends the command when our end is shut
}

// confine makes a command start as the helper.
func (c Command) confine(cmd *exec.Cmd) (*helper, error) {
	if c.Level == "" {
		return nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to the sandbox: %w", err)
	}
	h := &helper{os.NewFile(uintptr(pair[0]), "sandbox"), os.NewFile(uintptr(pair[1]), "sandbox")}
	s := spec{
		dir: c.Dir, temp: c.Temp, level: c.Level, network: c.Network, text: c.Text,
		fileSize: uint64(c.FileSize),
		seconds:  uint64(max(1, int(c.Limit/time.Second)) * runtime.NumCPU()),
	}
	cmd.Path = "/proc/self/exe" // this very program, also when its file was replaced
	cmd.Args = append([]string{helperName}, s.arguments()...)
	cmd.ExtraFiles = []*os.File{h.theirs}
	cmd.SysProcAttr = c.Level.attributes(c.Network)
	return h, nil
}

// attributes are those of the helper. With namespaces it is the first process of
// one, and everything in it dies by its death; without, the helper has to
// outlive the host to end what is there.
func (l Level) attributes(network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !l.namespaces() {
		return a
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if l == levelUser {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	return a
}

func (h *helper) started() {
	if h != nil {
		h.theirs.Close()
	}
}

// stop has the helper kill all that is left of the command.
func (h *helper) stop() {
	if h != nil {
		_ = unix.Shutdown(int(h.ours.Fd()), unix.SHUT_WR) // the helper is dead already, which is as good
	}
}

func (h *helper) close() {
	if h != nil {
		h.ours.Close()
		h.theirs.Close()
	}
}

// report returns how the command ended, once the helper has.
func (h *helper) report() (Result, bool) {
	if h == nil {
		return Result{}, false
	}
	var status uint32
	var e Result
	if _, err := fmt.Fscan(h.ours, &status, &e.Left); err != nil {
		return Result{}, false // it could not start the command, or was killed
	}
	switch w := syscall.WaitStatus(status); {
	case w.Signaled():
		e.State = "signal: " + w.Signal().String()
	default:
		e.State, e.OK = fmt.Sprintf("exit status %d", w.ExitStatus()), w.ExitStatus() == 0
	}
	return e, true
}
