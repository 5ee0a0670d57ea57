package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The first versions of landlock that know a thing. Before enoughABI it does
// not guard all ways to change a file.
const (
	referABI, enoughABI, tcpABI, deviceABI, scopeABI, socketABI = 2, 3, 4, 5, 6, 9
)

const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayWrite = mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	// onFile are the rights that a rule for a file can give.
	onFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// A ruleset is what landlock will hold the thread to.
type ruleset struct {
	fd      int
	handled uint64 // rights on files
}

// restrictFiles holds this thread, and what it starts, to the files of s. With
// a root of their own commands can go without it.
func restrictFiles(s spec) error {
	abi, err := landlockABI()
	switch {
	case s.level == levelNone || s.level.namespaces() && err != nil:
		return nil
	case err != nil:
		return fmt.Errorf("the kernel has no landlock: %w", err)
	case abi < enoughABI && !s.level.namespaces():
		return fmt.Errorf("the kernel's landlock is version %d, %d is needed", abi, enoughABI)
	}
	attributes := rightsOf(abi, s.network)
	fd, err := landlockCreateRuleset(&attributes)
	if err != nil {
		return fmt.Errorf("make a landlock ruleset: %w", err)
	}
	defer unix.Close(fd)
	if err := (ruleset{fd, attributes.Handled_access_fs}).fill(s); err != nil {
		return err
	}
	if err := landlockRestrictSelf(fd); err != nil {
		return fmt.Errorf("enter landlock: %w", err)
	}
	return nil
}

// sweeps reports whether landlock lets the helper signal its command and not the other way round.
func (s spec) sweeps() bool {
	abi, _ := landlockABI()
	return s.level == levelFiles && abi >= scopeABI
}

// confineSignals has this thread, and what it starts, signal nothing else.
func confineSignals() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	fd, err := landlockCreateRuleset(&unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL})
	if err != nil {
		return fmt.Errorf("make a landlock ruleset: %w", err)
	}
	defer unix.Close(fd)
	if err := landlockRestrictSelf(fd); err != nil {
		return fmt.Errorf("enter landlock: %w", err)
	}
	return nil
}

// rightsOf is all that a version of landlock can refuse.
func rightsOf(abi int, network bool) unix.LandlockRulesetAttr {
	rights := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1}
	for right, since := range map[uint64]int{
		unix.LANDLOCK_ACCESS_FS_REFER: referABI, unix.LANDLOCK_ACCESS_FS_TRUNCATE: enoughABI, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV: deviceABI, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX: socketABI,
	} {
		if abi >= since {
			rights.Handled_access_fs |= right
		}
	}
	if abi >= tcpABI && !network {
		rights.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= scopeABI {
		rights.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
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
	if err := landlockAddRule(r.fd, &unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}); err != nil {
		return fmt.Errorf("grant %s: %w", path, err)
	}
	return nil
}
