package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// helperName is what the program is called, as its argument 0, when it is to
// put itself into the sandbox and start a shell there.
const helperName = "agenthost-sandbox"

// shellName is what it is called when it is to confine itself and become the shell.
const shellName = "agenthost-sandbox-shell"

const (
	levelRoot  Level = "namespaces"      // made with the rights of root
	levelUser  Level = "user namespaces" // and all others inside one of them
	levelFiles Level = "landlock"        // and seccomp, without namespaces
	levelNone  Level = "nothing"         // limits, and an end of all processes
)

func (l Level) namespaces() bool { return l == levelRoot || l == levelUser }

// mainCalled tells that the program can be the helper: started again without
// that, it would be a second host.
var mainCalled bool

// Main has to be called first in the main function of a program whose
// agents run commands. In the program as a person started it, it does nothing
// but take note. Started by [Command.Run], it gives up all rights that a command
// is not to have, runs the command and never returns.
func Main() {
	var err error
	switch os.Args[0] {
	case helperName:
		err = help(os.Args[1:])
	case shellName:
		err = becomeShell(os.Args[1:])
	default:
		mainCalled = true
		return
	}
	fmt.Fprintln(os.Stderr, "sandbox:", err)
	os.Exit(126)
}

// Check reports what commands are held to here. The first call runs a few
// commands to find out.
func Check() Protection {
	if !mainCalled {
		return Protection{Layers: "the program does not begin with host.Begin"}
	}
	return probed().protection()
}

// Strongest is the strongest that works here.
func Strongest() Level {
	if !mainCalled {
		return ""
	}
	return probed().level
}

// A finding is the first level that works here, and why those before it do not.
type finding struct {
	level   Level
	refused []string
}

// probed tries the levels, strongest first, with a command that does nothing.
var probed = sync.OnceValue(func() finding {
	var f finding
	for _, f.level = range []Level{levelRoot, levelUser, levelFiles} {
		err := f.level.try()
		if err == nil {
			return f
		}
		f.refused = append(f.refused, fmt.Sprintf("%s: %v", f.level, err))
	}
	f.level = levelNone
	return f
})

func (l Level) try() error {
	if l == levelRoot && os.Geteuid() != 0 {
		return fmt.Errorf("only for root")
	}
	base, err := os.MkdirTemp("", "agenthost-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	c := Command{Text: ":", Dir: filepath.Join(base, "dir"), Temp: filepath.Join(base, "temp"), Limit: 10 * time.Second, Level: l}
	for _, dir := range []string{c.Dir, c.Temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Limit)
	defer cancel()
	end, err := c.Run(ctx)
	if err == nil && !end.OK {
		err = fmt.Errorf("%s", strings.TrimSpace(strings.TrimPrefix(end.Output, "sandbox: ")+" ["+end.State+"]"))
	}
	return err
}

func (f finding) protection() Protection {
	if f.level == levelNone {
		return Protection{Layers: "the kernel refuses all that is needed: " + strings.Join(f.refused, "; ")}
	}
	p := Protection{Confined: true, Layers: "seccomp"}
	abi, _ := landlockABI() // 0 without landlock
	if abi > 0 {
		p.Layers = fmt.Sprintf("landlock %d, %s", abi, p.Layers)
	}
	if f.level.namespaces() {
		p.Layers = string(f.level) + ", " + p.Layers
		return p
	}
	p.Layers += fmt.Sprintf("; no namespaces (%s)", strings.Join(f.refused, "; "))
	p.Open = []string{
		"change mode, owner, times and attributes of files outside the workspace that belong to the host's user",
		"see names, sizes and times of files outside the workspace",
	}
	if abi < scopeABI {
		p.Open = append(p.Open, "signal other processes of the host's user", "leave a process behind that forks all the time")
	}
	return p
}
