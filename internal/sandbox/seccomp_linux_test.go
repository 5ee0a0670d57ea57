//go:build amd64 || arm64

package sandbox

import (
	words "encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs a filter as the kernel would, on one system call.
func verdict(t *testing.T, f filter, arch, number uint32, arguments ...uint32) uint32 {
	t.Helper()
	program := make([]bpf.Instruction, len(f))
	for i, in := range f {
		program[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := words.BigEndian.AppendUint32(nil, number) // as this machine loads words
	data = words.BigEndian.AppendUint32(data, arch)
	data = append(data, make([]byte, 8)...)
	for i := range 6 {
		var argument uint32
		if i < len(arguments) {
			argument = arguments[i]
		}
		data = append(words.BigEndian.AppendUint32(data, argument), 0xff, 0xff, 0xff, 0xff)
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

const permitted = unix.SECCOMP_RET_ALLOW

func TestFilter(t *testing.T) {
	spaces, files := spec{level: levelUser}, spec{level: levelFiles}
	network := spec{level: levelFiles, network: true}
	tests := map[string]struct {
		o         spec
		number    uint32
		arguments []uint32
		want      uint32
	}{
		"read":                     {spaces, unix.SYS_READ, nil, permitted},
		"fork":                     {spaces, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_VFORK | uint32(unix.SIGCHLD)}, permitted},
		"thread":                   {spaces, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, permitted},
		"clone of a user":          {spaces, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)}, refused},
		"clone of a network":       {spaces, unix.SYS_CLONE, []uint32{unix.CLONE_NEWNET}, refused},
		"clone3":                   {spaces, unix.SYS_CLONE3, nil, unknown},
		"unshare files":            {spaces, unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, permitted},
		"unshare time":             {spaces, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWTIME}, refused},
		"setns":                    {spaces, unix.SYS_SETNS, nil, refused},
		"mount":                    {spaces, unix.SYS_MOUNT, nil, refused},
		"chroot":                   {spaces, unix.SYS_CHROOT, nil, refused},
		"io_uring":                 {spaces, unix.SYS_IO_URING_SETUP, nil, unknown},
		"bpf":                      {spaces, unix.SYS_BPF, nil, refused},
		"keyctl":                   {spaces, unix.SYS_KEYCTL, nil, refused},
		"socket":                   {spaces, unix.SYS_SOCKET, []uint32{unix.AF_INET}, denied},
		"local socket":             {spaces, unix.SYS_SOCKET, []uint32{unix.AF_UNIX}, denied},
		"pair":                     {spaces, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, permitted},
		"pair of datagrams":        {spaces, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, denied},
		"raw pair":                 {spaces, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_RAW}, denied},
		"other pair":               {spaces, unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC}, denied},
		"network: IPv4":            {network, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, permitted},
		"network: IPv6":            {network, unix.SYS_SOCKET, []uint32{unix.AF_INET6}, permitted},
		"network: routes":          {network, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, permitted},
		"network: audit":           {network, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, denied},
		"network: local":           {network, unix.SYS_SOCKET, []uint32{unix.AF_UNIX}, denied},
		"network: machines":        {network, unix.SYS_SOCKET, []uint32{unix.AF_VSOCK}, denied},
		"network: pair":            {network, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX}, permitted},
		"size of a terminal":       {spaces, unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, permitted},
		"typing":                   {spaces, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, refused},
		"pasting":                  {spaces, unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, refused},
		"mode":                     {spaces, unix.SYS_FCHMODAT, []uint32{0, 0, 0o755}, permitted},
		"set-user-ID":              {spaces, unix.SYS_FCHMODAT, []uint32{0, 0, 0o4755}, refused},
		"set-group-ID":             {spaces, unix.SYS_FCHMOD, []uint32{0, 0o2755}, refused},
		"sticky":                   {spaces, unix.SYS_FCHMOD, []uint32{0, 0o1777}, permitted},
		"set-user-ID by 2":         {spaces, unix.SYS_FCHMODAT2, []uint32{0, 0, 0o4755}, refused},
		"made with set-user-ID":    {spaces, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT, 0o4755}, refused},
		"made without a name":      {spaces, unix.SYS_OPENAT, []uint32{0, 0, unix.O_TMPFILE, 0o4755}, refused},
		"made":                     {spaces, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT, 0o666}, permitted},
		"opened, with an odd mode": {spaces, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, 0o4755}, permitted},
		"openat2":                  {spaces, unix.SYS_OPENAT2, nil, unknown},
		"node with set-user-ID":    {spaces, unix.SYS_MKNODAT, []uint32{0, 0, unix.S_IFREG | 0o4755}, refused},
		"shared memory, own":       {spaces, unix.SYS_SHMGET, nil, permitted},
		"shared memory, all":       {files, unix.SYS_SHMGET, nil, refused},
		"limits, own":              {files, unix.SYS_PRLIMIT64, []uint32{0}, permitted},
		"limits of another":        {files, unix.SYS_PRLIMIT64, []uint32{1}, refused},
		"limits in the namespace":  {spaces, unix.SYS_PRLIMIT64, []uint32{1}, permitted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := verdict(t, newFilter(tt.o), auditArch, tt.number, tt.arguments...); got != tt.want {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

func TestFilterOfOtherArchitectures(t *testing.T) {
	f := newFilter(spec{level: levelUser})
	if got := verdict(t, f, unix.AUDIT_ARCH_I386, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("i386: got %#x", got)
	}
	if got := verdict(t, f, auditArch, 1<<30|unix.SYS_READ); got != unknown {
		t.Errorf("x32: got %#x", got)
	}
}
