package sandbox_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"agenthost/internal/sandbox"
)

// An attack is tried by this test program, run as a command. It returns nil
// when it got through.
type attack func(v victim) error

// A victim is what an attack is aimed at. Commands get it by their arguments.
type victim struct {
	dir  string // outside the workspace: a file "secret" and a socket "socket"
	port int    // of 127.0.0.1, TCP and UDP
	pid  int    // the host
}

func (v victim) secret() string { return filepath.Join(v.dir, "secret") }

// attackMain tries the attacks that its first argument names.
func attackMain() {
	v := victim{dir: os.Args[2]}
	v.port, _ = strconv.Atoi(os.Args[3])
	v.pid, _ = strconv.Atoi(os.Args[4])
	runtime.LockOSThread()
	for name := range strings.SplitSeq(os.Args[1], ",") {
		for _, set := range attacks {
			if try, ok := set[name]; ok {
				fmt.Println(name+":", outcome(try(v)))
			}
		}
	}
	os.Exit(0)
}

func outcome(err error) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	return "got through"
}

// attacks by what holds them off.
var attacks = map[string]map[string]attack{
	"sockets": socketAttacks, "processes": processAttacks, "kernel": kernelAttacks, "modes": modeAttacks, "files": fileAttacks,
}

func loopback(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func connected(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	return unix.Connect(fd, to)
}

func sent(family, kind, flags int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), flags, to)
}

var socketAttacks = map[string]attack{
	"tcp":           func(v victim) error { return connected(unix.AF_INET, unix.SOCK_STREAM, 0, loopback(v.port)) },
	"tcp-fast-open": func(v victim) error { return sent(unix.AF_INET, unix.SOCK_STREAM, unix.MSG_FASTOPEN, loopback(v.port)) },
	"mptcp": func(v victim) error {
		return connected(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, loopback(v.port))
	},
	"udp": func(v victim) error { return sent(unix.AF_INET, unix.SOCK_DGRAM, 0, loopback(v.port)) },
	"unix": func(v victim) error {
		return connected(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: v.dir + "/socket"})
	},
	"abstract": func(v victim) error {
		return connected(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: v.abstract()})
	},
	"datagram":          func(v victim) error { return byPair(v.dir + "/datagrams") },
	"abstract-datagram": func(v victim) error { return byPair(v.abstract() + "-d") },
	"any-family":        func(victim) error { return anySocket() },
	"other-family":      func(victim) error { return anySocket(unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK) },
	"any-pair":          anyPair,
	"routes": func(victim) error {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
		return err
	},
	"io-uring": func(victim) error {
		var parameters [120]byte
		return call(unix.SYS_IO_URING_SETUP, 8, at(&parameters))
	},
}

func (v victim) abstract() string { return "@agenthost-test-" + strconv.Itoa(v.port) }

func anySocket(but ...int) error {
	for family := range 50 {
		if slices.Contains(but, family) {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if _, err := unix.Socket(family, kind, 0); err == nil {
				return nil
			}
		}
	}
	return unix.EACCES
}

// byPair sends to a socket of others from one of a pair.
func byPair(name string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: name}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("x"))
	return err
}

func anyPair(victim) error {
	for family := range 50 {
		if _, err := unix.Socketpair(family, unix.SOCK_SEQPACKET, 0); err == nil && family != unix.AF_UNIX {
			return nil
		}
	}
	return unix.EACCES
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func at[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// processAttacks aim at processes of the host's user.
var processAttacks = map[string]attack{
	"signal": func(v victim) error { return unix.Kill(v.pid, 0) },
	"pidfd": func(v victim) error {
		fd, err := unix.PidfdOpen(v.pid, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	},
	"ptrace": func(v victim) error { return unix.PtraceSeize(v.pid) },
	"vm-read": func(v victim) error {
		var buffer [1]byte
		local := unix.Iovec{Base: &buffer[0], Len: 1}
		remote := unix.RemoteIovec{Base: at(&buffer), Len: 1}
		_, err := unix.ProcessVMReadv(v.pid, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		if err == unix.EFAULT { // it was let in, and only guessed wrong
			return nil
		}
		return err
	},
	"memory": func(v victim) error {
		_, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", v.pid), os.O_RDWR, 0)
		return err
	},
	"environment":   func(v victim) error { return readProc(v, "environ") },
	"command-line":  func(v victim) error { return readProc(v, "cmdline") },
	"priority":      func(v victim) error { return priority(unix.PRIO_PROCESS, v.pid) },
	"priority-user": func(victim) error { return priority(unix.PRIO_USER, 0) },
	"affinity": func(v victim) error {
		var set unix.CPUSet
		set.Set(0)
		set.Set(1)
		return unix.SchedSetaffinity(v.pid, &set)
	},
	"scheduler": func(v victim) error {
		var ordinary int32
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(v.pid), 0, at(&ordinary))
	},
	"io-priority":      func(v victim) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(v.pid), 0) },
	"io-priority-user": func(victim) error { return call(unix.SYS_IOPRIO_SET, 3, 0, 0) },
	"limits": func(v victim) error {
		var now unix.Rlimit
		return unix.Prlimit(v.pid, unix.RLIMIT_CORE, nil, &now)
	},
}

// priority sets it to what it is.
func priority(which, who int) error {
	now, err := unix.Getpriority(which, who)
	if err != nil {
		return err
	}
	return unix.Setpriority(which, who, 20-now)
}

func readProc(v victim, name string) error {
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", v.pid, name))
	return err
}

var kernelAttacks = map[string]attack{
	"mount":             func(victim) error { return unix.Mount("none", ".", "tmpfs", 0, "") },
	"remount":           func(victim) error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"unmount":           func(victim) error { return unix.Unmount("/proc", unix.MNT_DETACH) },
	"chroot":            func(victim) error { return unix.Chroot("/") },
	"user-namespace":    func(victim) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"network-namespace": func(victim) error { return unix.Unshare(unix.CLONE_NEWNET) },
	"clone-namespace":   func(victim) error { return cloned(unix.CLONE_NEWUSER) },
	"clone3":            cloned3,
	"keys":              func(victim) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"add-key": func(victim) error {
		_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
		return err
	},
	"bpf":                 func(victim) error { return call(unix.SYS_BPF, 0, at(&[128]byte{0: 2, 4: 4, 8: 4, 12: 1}), 128) },
	"perf":                perf,
	"userfaultfd":         func(victim) error { return call(unix.SYS_USERFAULTFD, 1) },
	"kernel-log":          func(victim) error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil); return err },
	"file-handle":         func(v victim) error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0); return err },
	"capabilities":        capabilities,
	"privileges-by-exec":  privilegesByExec,
	"terminal":            func(victim) error { return opened("/dev/tty") },
	"new-terminal":        func(victim) error { return opened("/dev/ptmx") },
	"kernel-messages":     func(victim) error { return opened("/dev/kmsg") },
	"memory-device":       func(victim) error { return opened("/dev/mem") },
	"kernel-core":         func(victim) error { return opened("/proc/kcore") },
	"disk":                disk,
	"core-pattern":        func(victim) error { _, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0); return err },
	"others-shared-files": func(v victim) error { return opened("/dev/shm/" + filepath.Base(v.dir)) },
	"terminal-input":      terminalInput,
	"session":             func(v victim) error { return sameSession(v) },
	"device-file":         func(victim) error { return unix.Mknod("device", unix.S_IFCHR|0o600, 1<<8|3) },
}

// opened is for files that are nothing of a command's: /dev/null in their place
// is as good as an error.
func opened(path string) error {
	data := make([]byte, 1)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	var there, null unix.Stat_t
	if err := unix.Fstat(fd, &there); err != nil {
		return err
	}
	if unix.Stat("/dev/null", &null) == nil && there.Rdev == null.Rdev && there.Rdev != 0 {
		return fmt.Errorf("%s is empty", path)
	}
	_, _ = unix.Read(fd, data)
	return nil
}

func cloned(flags uintptr) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

// cloned3 asks for nothing that exists: only what is not looked at is refused
// with another error.
func cloned3(victim) error {
	if err := call(unix.SYS_CLONE3, 0, 0); errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

func perf(victim) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	attr.Size = uint32(unsafe.Sizeof(attr))
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return err
}

// capabilities may be those over files, where these are the workspace's only.
func capabilities(victim) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	const overFiles = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID
	if sets[0].Permitted&^overFiles == 0 && sets[1].Permitted == 0 {
		return unix.EPERM
	}
	return nil
}

func privilegesByExec(victim) error {
	value, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && value == 1 {
		return unix.EPERM
	}
	return err
}

func disk(victim) error {
	var root unix.Stat_t
	if err := unix.Stat("/usr", &root); err != nil {
		return err
	}
	return unix.Mknod("disk", unix.S_IFBLK|0o600, int(root.Dev))
}

func terminalInput(victim) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	// On what is no terminal it is ENOTTY: the filter comes before that.
	if err := unix.IoctlSetPointerInt(pair[0], unix.TIOCSTI, 'x'); err != unix.ENOTTY {
		return err
	}
	return nil
}

func sameSession(v victim) error {
	ours, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	theirs, err := unix.Getsid(v.pid)
	if err != nil || ours != theirs {
		return unix.ESRCH
	}
	return nil
}

// modeAttacks make a file that runs with the rights of the host's user.
var modeAttacks = map[string]attack{
	"chmod":    func(victim) error { return suid(func() error { return unix.Chmod("f", 0o4755) }) },
	"fchmodat": func(victim) error { return suid(func() error { return unix.Fchmodat(unix.AT_FDCWD, "f", 0o2755, 0) }) },
	"fchmodat2": func(victim) error {
		name, _ := unix.BytePtrFromString("f")
		return suid(func() error { return call(unix.SYS_FCHMODAT2, atCurrent, at(name), 0o4755, 0) })
	},
	"open": func(victim) error { _, err := unix.Open("g", unix.O_CREAT|unix.O_WRONLY, 0o4755); return err },
	"openat2": func(victim) error {
		_, err := unix.Openat2(unix.AT_FDCWD, "h", &unix.OpenHow{Flags: unix.O_CREAT, Mode: 0o4755})
		return err
	},
	"mknod":   func(victim) error { return unix.Mknod("i", unix.S_IFREG|0o4755, 0) },
	"tmpfile": func(victim) error { _, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o4755); return err },
}

const atCurrent = ^uintptr(99) // AT_FDCWD, -100

func suid(set func() error) error {
	if err := os.WriteFile("f", nil, 0o600); err != nil {
		return err
	}
	return set()
}

// fileAttacks aim at a file of the host's user outside the workspace. Without
// namespaces the kernel has nothing against them.
var fileAttacks = map[string]attack{
	"mode":      func(v victim) error { return unix.Chmod(v.secret(), 0o666) },
	"suid":      func(v victim) error { return unix.Chmod(v.secret(), 0o4755) },
	"owner":     func(v victim) error { return unix.Chown(v.secret(), os.Getuid(), os.Getgid()) },
	"times":     func(v victim) error { return unix.Utimes(v.secret(), make([]unix.Timeval, 2)) },
	"attribute": func(v victim) error { return unix.Setxattr(v.secret(), "user.x", []byte("x"), 0) },
	"size":      func(v victim) error { _, err := os.Stat(v.secret()); return err },
	"system":    func(victim) error { return unix.Utimes("/etc/passwd", make([]unix.Timeval, 2)) },
	"home":      func(victim) error { _, err := os.Stat("/root/.profile"); return err },
	// The same mode again: what is the host's stays as it is when this gets through.
	"device":         func(victim) error { return unix.Chmod("/dev/null", 0o666) },
	"standard-input": func(victim) error { return unix.Fchmod(0, 0o666) },
	"hidden-file":    func(victim) error { return hiddenFile() },
	"tls-secret":     func(victim) error { _, err := os.Stat("/etc/ssl/private"); return err },
	"temporary":      func(victim) error { _, err := os.Stat("/tmp/."); _, up := os.ReadDir("/tmp"); return firstOf(err, up) },
}

// hiddenFile aims at what is put over files of /proc.
func hiddenFile() error {
	if _, err := os.Stat("/proc/kcore"); err != nil {
		return err
	}
	return unix.Chmod("/proc/kcore", 0o666)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func init() { roles["attack"] = attackMain }

// newVictim makes what attacks are aimed at.
func newVictim(t *testing.T) victim {
	t.Helper()
	dir, err := os.MkdirTemp("", "victim") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	v := victim{dir: dir, pid: os.Getpid()}
	if err := os.WriteFile(v.secret(), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	tcp, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v.port = tcp.Addr().(*net.TCPAddr).Port
	t.Cleanup(func() { tcp.Close() })
	for _, name := range []string{dir + "/socket", v.abstract()} {
		l, err := lc.Listen(t.Context(), "unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	for _, name := range []string{dir + "/datagrams", v.abstract() + "-d"} {
		l, err := lc.ListenPacket(t.Context(), "unixgram", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	shared := "/dev/shm/" + filepath.Base(dir)
	if err := os.WriteFile(shared, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(shared) })
	return v
}

// arm puts this test program into the workspace.
func (w workspace) arm(t *testing.T) {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	w.install(t, "attack", program)
}

func (w workspace) install(t *testing.T, name string, program []byte) {
	t.Helper()
	w.put(t, name, string(program))
	if err := os.Chmod(filepath.Join(w.dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// attack returns what became of the attacks with these names.
func (w workspace) attack(t *testing.T, v victim, names ...string) map[string]string {
	t.Helper()
	command := fmt.Sprintf("./attack %s %s %d %d", strings.Join(names, ","), v.dir, v.port, v.pid)
	outcomes := map[string]string{}
	for line := range strings.Lines(w.output(t, command)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		outcomes[name] = outcome
	}
	return outcomes
}

func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			v, w := newVictim(t), open(t, level)
			w.arm(t)
			for kind, set := range attacks {
				if kind == "files" && level == "landlock" {
					continue // said to be open there
				}
				got := w.attack(t, v, slices.Sorted(maps.Keys(set))...)
				for name := range set {
					if !strings.HasPrefix(got[name], "refused: ") {
						t.Errorf("%s/%s: got %q", kind, name, got[name])
					}
				}
			}
		})
	}
}

// What is refused in the sandbox works outside, else the test above would show
// nothing. Some of it only root can do, or not every kernel.
func TestAttacksAreReal(t *testing.T) {
	v, w := newVictim(t), open(t, "")
	w.arm(t)
	for kind, names := range map[string][]string{
		"sockets":   {"tcp", "udp", "unix", "abstract", "datagram", "abstract-datagram", "any-family"},
		"processes": {"signal", "pidfd", "environment", "command-line", "limits", "priority", "affinity", "scheduler", "io-priority"},
		"modes":     {"chmod", "fchmodat", "open", "openat2", "mknod"},
		"files":     {"mode", "owner", "times", "size", "temporary"},
		"kernel":    {"others-shared-files", "terminal-input", "session", "clone3"},
	} {
		for _, name := range names {
			t.Run(kind+"/"+name, func(t *testing.T) {
				if got := w.attack(t, v, name)[name]; got != "got through" {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

func TestNamesOfAttacksAreUnique(t *testing.T) {
	var names []string
	for _, set := range attacks {
		for name := range set {
			if slices.Contains(names, name) {
				t.Errorf("%q is there twice", name)
			}
			names = append(names, name)
		}
	}
}
