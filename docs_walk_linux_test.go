package agenthost_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ownNetwork is the program that is a shell in a network of its own; ok is false
// where the system does not let one be made.
func ownNetwork(t *testing.T) (program string, attr *syscall.SysProcAttr, ok bool) {
	t.Helper()
	attr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	try := exec.CommandContext(t.Context(), "true")
	try.SysProcAttr = attr
	if err := try.Run(); err != nil {
		t.Logf("no network of its own (%v): the ports of the pages have to be free", err)
		return "", nil, false
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program, attr, true
}

// loopbackUp makes 127.0.0.1 work in a new network.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
