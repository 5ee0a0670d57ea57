package shell

import (
	"slices"
	"strings"
)

// A wrapper says how to find the command in the arguments of a program that
// runs it. Options that are missing here are not known, so that a line with one
// of them asks: those that run something else, or elsewhere, are left out.
type wrapper struct {
	flags  string   // options without a value
	values string   // options with one
	long   []string // long options without a value
	longs  []string // long options with one
	skip   int      // words before the command
}

var wrappers = map[string]wrapper{
	"builtin": {},
	"busybox": {},
	"command": {flags: "pvV"},
	"doas":    {flags: "nL", values: "u"},
	"env":     {flags: "i0v", values: "u", long: []string{"ignore-environment", "null", "debug"}, longs: []string{"unset"}},
	"exec":    {flags: "cl", values: "a"},
	"ionice":  {flags: "t", values: "cn", long: []string{"ignore"}, longs: []string{"class", "classdata"}},
	"nice":    {flags: "0123456789", values: "n", longs: []string{"adjustment"}},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"ssh":     {flags: "46AaCfGgKkMNnqTtVvXxYy", values: "bcilmpBJ", skip: 1},
	"stdbuf":  {values: "ioe", longs: []string{"input", "output", "error"}},
	"sudo": {
		flags: "AbEHknPSB", values: "ugpCrtTU",
		long:  []string{"non-interactive", "preserve-env", "set-home", "stdin", "background"},
		longs: []string{"user", "group", "preserve-env"},
	},
	"time":    {flags: "pvaq", values: "f", long: []string{"portability", "verbose", "quiet"}, longs: []string{"format"}},
	"timeout": {flags: "pvf", values: "ks", long: []string{"preserve-status", "foreground", "verbose"}, longs: []string{"signal", "kill-after"}, skip: 1},
	"toybox":  {},
	"watch": {
		flags: "bcdegptw", values: "nq",
		long:  []string{"beep", "color", "differences", "errexit", "chgexit", "precise", "no-title", "no-wrap"},
		longs: []string{"interval", "equexit"},
	},
	"xargs": {
		flags: "0prtxo", values: "adEILnPs",
		long:  []string{"null", "interactive", "no-run-if-empty", "verbose", "exit", "open-tty"},
		longs: []string{"arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars"},
	},
	"parallel": {flags: "0krtv", values: "jn", long: []string{"keep-order", "null", "bar"}, longs: []string{"jobs", "delay", "retries", "timeout"}},
}

// opaque are the programs that run what they find elsewhere, or change what
// names and variables mean to the shell.
var opaque = set(
	".", "source", "trap", "alias", "unalias", "enable", "hash", "read", "mapfile", "readarray", "unset", "getopts",
	"export", "declare", "typeset", "local", "readonly", "let", "bind", "fc", "complete", "compgen", "history",
	"zsh", "ksh", "mksh", "csh", "tcsh", "fish", "su", "runuser", "pkexec", "run0", "chroot", "unshare", "nsenter",
	"script", "strace", "ltrace", "gdb", "valgrind", "flock", "expect", "unbuffer", "screen", "tmux", "at", "batch", "crontab",
	"systemd-run", "entr", "setpriv", "prlimit", "taskset", "chrt", "numactl", "fakeroot", "firejail", "bwrap", "capsh",
	"sg", "newgrp", "setarch", "linux32", "linux64", "i386", "x86_64", "choom", "uclampset", "coresched", "runcon", "cgexec", "proot",
	"chronic", "eatmydata", "sem", "sshpass", "ssh-agent", "xvfb-run", "dbus-run-session", "systemd-inhibit", "torsocks", "proxychains", "hyperfine",
	"daemonize", "start-stop-daemon", "chpst", "setuidgid", "gosu", "su-exec", "tini", "dumb-init", "rlwrap", "socat",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// options is args without the options they begin with.
func (w wrapper) options(args []arg) ([]arg, error) {
	for len(args) > 0 {
		if err := args[0].hidden(); err != nil {
			return nil, err
		}
		text := args[0].text
		if text == "--" {
			return args[1:], nil
		}
		if !strings.HasPrefix(text, "-") {
			return args, nil
		}
		words, ok := w.option(text)
		if !ok || words > len(args) {
			return nil, unknown(text)
		}
		if err := args[words-1].hidden(); err != nil {
			return nil, err
		}
		args = args[words:]
	}
	return nil, nil
}

// option tells of how many words an option is.
func (w wrapper) option(text string) (words int, ok bool) {
	if name, long := strings.CutPrefix(text, "--"); long {
		name, _, value := strings.Cut(name, "=")
		switch {
		case value:
			return 1, slices.Contains(w.longs, name)
		case slices.Contains(w.long, name):
			return 1, true
		default:
			return 2, slices.Contains(w.longs, name)
		}
	}
	for i, c := range text[1:] {
		switch {
		case strings.ContainsRune(w.flags, c):
		case !strings.ContainsRune(w.values, c):
			return 0, false
		case i == len(text)-2:
			return 2, true
		default:
			return 1, true
		}
	}
	return 1, len(text) > 1
}
