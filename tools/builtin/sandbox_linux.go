package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const (
	// helperName is what the program is called, as its argument 0, when it is
	// to put itself into the sandbox and become a shell.
	helperName = "agenthost-sandbox"
	// enoughABI is the first version of landlock that guards all ways to change a
	// file; tcpABI the first that knows TCP.
	enoughABI, tcpABI = 3, 4
)

// mainCalled tells that the program can be the helper: started again without
// that, it would be a second host.
var mainCalled bool

// SandboxMain has to be called first in the main function of a program whose
// agents run commands. In the program as a person started it, it does nothing
// but take note. Started by run_command, it gives up all rights that a command
// is not to have, becomes the shell and never returns.
func SandboxMain() {
	if os.Args[0] != helperName {
		mainCalled = true
		return
	}
	fmt.Fprintln(os.Stderr, "sandbox:", becomeShell(os.Args[1:]))
	os.Exit(126)
}

// Sandboxed reports whether commands run in a sandbox here, and what it keeps
// them from, or why there is none.
func Sandboxed() (bool, string) {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case !mainCalled:
		return false, "the program does not begin with SandboxMain"
	case err != nil:
		return false, fmt.Sprintf("the kernel has no landlock: %v", err)
	case abi < enoughABI:
		return false, fmt.Sprintf("the kernel's landlock is version %d, %d is needed", abi, enoughABI)
	case abi < tcpABI:
		return true, fmt.Sprintf("landlock %d: files; not the network", abi)
	}
	return true, fmt.Sprintf("landlock %d: files and TCP", abi)
}

// enterSandbox makes the command begin as the helper. Without landlock that
// still limits what a command may use.
func (s shell) enterSandbox(cmd *exec.Cmd) {
	if !mainCalled {
		return
	}
	seconds := max(1, int(s.limit/time.Second)) * runtime.NumCPU()
	cmd.Path = "/proc/self/exe" // this very program, also when its file was replaced
	cmd.Args = []string{helperName, s.dir, s.temp, strconv.Itoa(seconds), s.text}
}

// becomeShell returns only with an error: a command is never run with more
// rights than it should have.
func becomeShell(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%d arguments, want 4", len(args))
	}
	dir, temp, text := args[0], args[1], args[3]
	seconds, err := strconv.ParseUint(args[2], 10, 32)
	if err != nil {
		return fmt.Errorf("seconds of processor time: %w", err)
	}
	runtime.LockOSThread() // rights are a thread's; exec keeps those of the one that calls it
	if err := limitUse(seconds); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := restrict(dir, temp); err != nil {
		return err
	}
	return fmt.Errorf("start /bin/sh: %w", syscall.Exec("/bin/sh", []string{"sh", "-c", "--", text}, os.Environ()))
}

// restrict asks for all that the kernel can refuse, and grants what a command
// needs. /proc is not granted: it shows the command lines of others.
func restrict(dir, temp string) error {
	err := landlock.V11.BestEffort().Restrict(
		landlock.RODirs(
			"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
			"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/pki", "/etc/ssl",
		).IgnoreIfMissing(),
		landlock.ROFiles(
			"/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/localtime",
			"/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/protocols",
			"/etc/services", "/proc/cpuinfo", "/proc/meminfo", "/dev/random", "/dev/urandom",
		).IgnoreIfMissing(),
		landlock.RWFiles("/dev/full", "/dev/null", "/dev/zero").IgnoreIfMissing(),
		landlock.RWDirs(dir, temp).WithRefer(),
	)
	if err != nil {
		return fmt.Errorf("restrict to %s: %w", dir, err)
	}
	return nil
}
