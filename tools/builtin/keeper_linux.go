package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A keeper is the host's side of a helper. Without one, which is nil, a command
// is a process group and no more.
type keeper struct {
	ours, theirs *os.File // a connection: the helper ends the command when our end is shut
}

// confine makes a command start as the helper.
func (s shell) confine(cmd *exec.Cmd) (*keeper, error) {
	if s.level == "" {
		return nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to the sandbox: %w", err)
	}
	k := &keeper{os.NewFile(uintptr(pair[0]), "sandbox"), os.NewFile(uintptr(pair[1]), "sandbox")}
	o := order{
		dir: s.dir, temp: s.temp, level: s.level, network: s.network, text: s.text,
		fileSize: uint64(s.room),
		seconds:  uint64(max(1, int(s.limit/time.Second)) * runtime.NumCPU()),
	}
	cmd.Path = "/proc/self/exe" // this very program, also when its file was replaced
	cmd.Args = append([]string{helperName}, o.arguments()...)
	cmd.ExtraFiles = []*os.File{k.theirs}
	cmd.SysProcAttr = s.level.attributes(s.network)
	return k, nil
}

// attributes are those of the helper. With namespaces it is the first process of
// one, and everything in it dies by its death; without, the helper has to
// outlive the host to end what is there.
func (l level) attributes(network bool) *syscall.SysProcAttr {
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

func (k *keeper) started() {
	if k != nil {
		k.theirs.Close()
	}
}

// stop has the helper kill all that is left of the command.
func (k *keeper) stop() {
	if k != nil {
		_ = unix.Shutdown(int(k.ours.Fd()), unix.SHUT_WR) // the helper is dead already, which is as good
	}
}

func (k *keeper) close() {
	if k != nil {
		k.ours.Close()
		k.theirs.Close()
	}
}

// report is how the command ended as the helper tells it, which has ended.
func (k *keeper) report() (ending, bool) {
	if k == nil {
		return ending{}, false
	}
	var status uint32
	var e ending
	if _, err := fmt.Fscan(k.ours, &status, &e.left); err != nil {
		return ending{}, false // it could not start the command, or was killed
	}
	switch w := syscall.WaitStatus(status); {
	case w.Signaled():
		e.state = "signal: " + w.Signal().String()
	default:
		e.state, e.ok = fmt.Sprintf("exit status %d", w.ExitStatus()), w.ExitStatus() == 0
	}
	return e, true
}
