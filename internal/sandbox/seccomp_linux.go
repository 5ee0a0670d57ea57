//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the kernel puts a system call for a filter to look at: struct
// seccomp_data. Of an argument only the lower half is looked at, which is all of
// an int.
const (
	atNumber, atArch, atArguments = 0, 4, 16

	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	denied  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // programs go on without it
)

type modeCall struct {
	number      uint32
	mode, flags int
}

// A filter is a program for the kernel that looks at each system call. Between
// its rules the number of the call is loaded.
type filter []unix.SockFilter

func (f *filter) do(code uint16, k uint32) { *f = append(*f, unix.SockFilter{Code: code, K: k}) }

func (f *filter) load(at uint32) { f.do(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }

func (f *filter) end(verdict uint32) { f.do(unix.BPF_RET|unix.BPF_K, verdict) }

// unless skips the next n instructions when the test fails.
func (f *filter) unless(test uint16, k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: n})
}

// always has calls end so, whatever their arguments.
func (f *filter) always(verdict uint32, numbers ...uint32) {
	for _, number := range numbers {
		f.unless(unix.BPF_JEQ, number, 1)
		f.end(verdict)
	}
}

// body has calls end as rest says, which starts with the number loaded; one
// that rest does not end goes on with the rules that follow.
func (f *filter) body(number uint32, rest func(*filter)) {
	var inner filter
	rest(&inner)
	inner.load(atNumber)
	f.unless(unix.BPF_JEQ, number, uint8(len(inner)))
	*f = append(*f, inner...)
}

// bits has a call end so when an argument has one of the bits.
func (f *filter) bits(verdict, number uint32, argument int, bits uint32) {
	f.body(number, func(f *filter) {
		f.load(argumentAt(argument))
		f.unless(unix.BPF_JSET, bits, 1)
		f.end(verdict)
	})
}

func argumentAt(n int) uint32 { return atArguments + 8*uint32(n) }

// newFilter is what commands of an spec may not ask the kernel for.
func newFilter(s spec) filter {
	var f filter
	f.machine()
	f.always(unknown, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3, unix.SYS_OPENAT2)
	f.always(
		refused,
		unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_REQUEST_KEY, unix.SYS_SYSLOG, unix.SYS_USERFAULTFD,
		unix.SYS_CHROOT, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_PIVOT_ROOT, unix.SYS_SETNS, unix.SYS_UMOUNT2,
	)
	f.newNamespaces()
	f.typingForOthers()
	f.otherUsers()
	f.sockets(s.network)
	if !s.level.namespaces() {
		f.otherProcesses()
	}
	f.end(unix.SECCOMP_RET_ALLOW)
	return f
}

// machine ends a process that uses the calls of another architecture: their
// numbers mean other things. On amd64 those of x32 do not count as another.
func (f *filter) machine() {
	f.load(atArch)
	f.unless(unix.BPF_JEQ, auditArch, 1)
	f.do(unix.BPF_JMP|unix.BPF_JA, 1)
	f.end(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(atNumber)
	const x32 = 1 << 30
	f.unless(unix.BPF_JGE, x32, 1)
	f.end(unknown)
}

// newNamespaces refuses namespaces of one's own, in which an ordinary user has
// the capabilities that reach the darker corners of the kernel.
func (f *filter) newNamespaces() {
	const all = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
		unix.CLONE_NEWUSER | unix.CLONE_NEWUTS
	f.bits(refused, unix.SYS_CLONE, 0, all)
	f.bits(refused, unix.SYS_UNSHARE, 0, all|unix.CLONE_NEWTIME)
}

// typingForOthers refuses to put characters into the input of a terminal.
func (f *filter) typingForOthers() {
	f.body(unix.SYS_IOCTL, func(f *filter) {
		f.load(argumentAt(1))
		f.always(refused, unix.TIOCSTI, unix.TIOCLINUX)
	})
}

// otherUsers refuses files with a set-user-ID or set-group-ID bit: whoever runs
// such a file has the rights of the host's user.
func (f *filter) otherUsers() {
	for _, call := range modeCalls {
		if call.flags < 0 {
			f.bits(refused, call.number, call.mode, unix.S_ISUID|unix.S_ISGID)
			continue
		}
		f.body(call.number, func(f *filter) {
			f.load(argumentAt(call.flags))
			f.unless(unix.BPF_JSET, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 3)
			f.load(argumentAt(call.mode)) // without these flags it means nothing
			f.unless(unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID, 1)
			f.end(refused)
		})
	}
}

// sockets refuses them all but pairs; with the network on, all but those of the
// internet and of questions about the machine's own addresses. One of a pair for
// datagrams could send them to a socket of others.
func (f *filter) sockets(network bool) {
	const kind = 0xf // the rest of the type are flags
	f.body(unix.SYS_SOCKETPAIR, func(f *filter) {
		f.load(argumentAt(0))
		f.unless(unix.BPF_JEQ, unix.AF_UNIX, 1)
		f.do(unix.BPF_JMP|unix.BPF_JA, 1)
		f.end(denied)
		f.load(argumentAt(1))
		f.do(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, kind)
		f.always(denied, unix.SOCK_DGRAM, unix.SOCK_RAW) // the kernel takes raw for datagrams
	})
	if !network {
		f.always(denied, unix.SYS_SOCKET)
		return
	}
	f.body(unix.SYS_SOCKET, func(f *filter) {
		f.load(argumentAt(0))
		f.always(unix.SECCOMP_RET_ALLOW, unix.AF_INET, unix.AF_INET6)
		f.unless(unix.BPF_JEQ, unix.AF_NETLINK, 3)
		f.load(argumentAt(2))
		f.unless(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1)
		f.end(unix.SECCOMP_RET_ALLOW)
		f.end(denied)
	})
}

// otherProcesses refuses what reaches processes of the host's user that are not
// the command's, where no namespace hides them.
func (f *filter) otherProcesses() {
	f.always(
		refused,
		unix.SYS_MQ_OPEN, unix.SYS_MSGCTL, unix.SYS_MSGGET, unix.SYS_MSGRCV, unix.SYS_MSGSND, unix.SYS_SEMCTL, unix.SYS_SEMGET,
		unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMGET,
	)
	for number, process := range map[uint32]int{
		unix.SYS_PRLIMIT64: 0, unix.SYS_SCHED_SETAFFINITY: 0, unix.SYS_SCHED_SETATTR: 0, unix.SYS_SCHED_SETPARAM: 0,
		unix.SYS_SCHED_SETSCHEDULER: 0, unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1,
	} {
		f.body(number, func(f *filter) {
			f.load(argumentAt(process)) // 0 is the caller itself
			f.unless(unix.BPF_JGE, 1, 1)
			f.end(refused)
		})
	}
	const ioUser = 3
	for number, user := range map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: ioUser} {
		f.body(number, func(f *filter) {
			f.load(argumentAt(0)) // of all processes of the user
			f.always(refused, user)
		})
	}
}

// restrictCalls puts the filter on this thread, and on what it starts.
func restrictCalls(s spec) error {
	if s.level == levelNone {
		return nil
	}
	f := newFilter(s)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
