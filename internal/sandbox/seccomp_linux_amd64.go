package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// modeCalls are the system calls that give a file its mode: which argument that
// is, and which holds the flags that say whether it counts, or -1.
var modeCalls = []modeCall{
	{unix.SYS_CHMOD, 1, -1},
	{unix.SYS_FCHMOD, 1, -1},
	{unix.SYS_FCHMODAT, 2, -1},
	{unix.SYS_FCHMODAT2, 2, -1},
	{unix.SYS_MKNOD, 1, -1},
	{unix.SYS_MKNODAT, 2, -1},
	{unix.SYS_CREAT, 1, -1},
	{unix.SYS_OPEN, 2, 1},
	{unix.SYS_OPENAT, 3, 2},
}
