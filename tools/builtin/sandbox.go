package builtin

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

// A level says by what commands are confined; empty, they are process groups and
// no more.
type level string
