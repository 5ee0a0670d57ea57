package sandbox

import (
	"errors"
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The first versions of landlock that know a thing. Before enoughABI it does
// not guard all ways to change a file.
const (
	referABI, enoughABI, tcpABI, deviceABI, scopeABI, socketABI = 2, 3, 4, 5, 6, 9
)

const (
	mayRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	mayWrite = mayRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSResolveUnix
	// onFile are the rights that a rule for a file can give.
	onFile = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// A ruleset is what landlock will hold the thread to.
type ruleset struct {
	fd      int
	handled uint64 // rights on files
}

// restrictFiles holds this thread, and what it starts, to the files of s. With
// a root of their own commands can go without it.
func restrictFiles(s spec) error {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case s.level == levelNone || s.level.namespaces() && err != nil:
		return nil
	case err != nil:
		return fmt.Errorf("the kernel has no landlock: %w", err)
	case abi < enoughABI && !s.level.namespaces():
		return fmt.Errorf("the kernel's landlock is version %d, %d is needed", abi, enoughABI)
	}
	attributes := rightsOf(abi, s.network)
	fd, err := ll.LandlockCreateRuleset(&attributes, 0)
	if err != nil {
		return fmt.Errorf("make a landlock ruleset: %w", err)
	}
	defer unix.Close(fd)
	if err := (ruleset{fd, attributes.HandledAccessFS}).fill(s); err != nil {
		return err
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("enter landlock: %w", err)
	}
	return nil
}

// rightsOf is all that a version of landlock can refuse.
func rightsOf(abi int, network bool) ll.RulesetAttr {
	rights := ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer - 1}
	for right, since := range map[uint64]int{
		ll.AccessFSRefer: referABI, ll.AccessFSTruncate: enoughABI, ll.AccessFSIoctlDev: deviceABI, ll.AccessFSResolveUnix: socketABI,
	} {
		if abi >= since {
			rights.HandledAccessFS |= right
		}
	}
	if abi >= tcpABI && !network {
		rights.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= scopeABI {
		rights.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return rights
}

// fill grants what a command needs. Of a /proc that is not its own it gets a few
// files: the rest shows the command lines of others.
func (r ruleset) fill(s spec) error {
	readable, writable := readablePaths(s.network), append(writableDevices(), s.dir, s.temp)
	if s.level.namespaces() {
		readable, writable = append(readable, "/proc"), append(writable, "/dev/shm")
	} else {
		readable = append(readable, readableProc...)
	}
	for _, path := range readable {
		if err := r.grant(path, mayRead); err != nil && !absent(err) {
			return err
		}
	}
	for _, path := range writable {
		if err := r.grant(path, mayWrite); err != nil && (!absent(err) || path == s.dir || path == s.temp) {
			return err
		}
	}
	return nil
}

// absent reports whether err says that a path does not exist, or not for this
// user.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOTDIR)
}

func (r ruleset) grant(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFile
	}
	if err := ll.LandlockAddPathBeneathRule(r.fd, &ll.PathBeneathAttr{AllowedAccess: rights & r.handled, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("grant %s: %w", path, err)
	}
	return nil
}
