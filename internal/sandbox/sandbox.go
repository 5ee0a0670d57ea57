// Package sandbox runs shell commands that reach nothing but their workspace.
//
// On Linux a command is run by a helper, which is this program again under
// another name: see [Main]. The helper confines itself by what the kernel gives
// (namespaces, landlock, seccomp), starts the shell, and ends only when nothing
// of the command is left, also when the host dies meanwhile. Elsewhere, and
// where [Check] finds nothing that works, a command is a process group and no
// more.
package sandbox

import "time"

// A Command is a command line to run.
type Command struct {
	Text      string // for /bin/sh
	Dir, Temp string // the folders it may write to
	Limit     time.Duration
	Level     Level // by what it is confined; empty: a process group and no more
	Network   bool
	FileSize  int64 // the most that it may write into one file
}

// A Result is how a command ended.
type Result struct {
	Output string
	State  string // "exit status 1", "signal: killed"
	OK     bool
	Left   int // processes that were killed after its end
}

// A Protection is what this machine holds commands to.
type Protection struct {
	// Confined tells that commands reach only what docs/tools.md says. When it is
	// false, every command needs an approval.
	Confined bool
	// Layers are the parts of the kernel that hold them, such as "namespaces,
	// landlock 7, seccomp", or why they are not confined.
	Layers string
	// Open is what a command can do although it should not, as sentences without
	// a subject: "can change …".
	Open []string
}

// A Level says by what commands are confined; empty, they are process groups and
// no more.
type Level string
