package shell

import (
	"strings"
)

// payload takes in what the command with the given base name runs by itself.
func (r *reading) payload(base string, args []arg) {
	switch base {
	case "sh", "bash", "rbash", "dash", "ash":
		r.shell(args)
	case "eval":
		r.joinedScript(args)
	case "watch":
		if rest, ok := r.strip(base, args); ok {
			r.joinedScript(rest)
		}
	case "ssh":
		r.ssh(args)
	case "find":
		r.find(args)
	case "xargs":
		r.xargs(args)
	case "parallel":
		r.parallel(args)
	case "printf":
		if len(args) > 0 && (!args[0].fixed || strings.HasPrefix(args[0].text, "-v")) {
			r.doubts("printf may set a variable")
		}
	case "test", "[":
		r.test(args)
	case "jobs":
		r.jobs(args)
	case "wait":
		if len(args) > 0 {
			r.doubts("wait may set a variable")
		}
	default:
		r.wrapped(base, args)
	}
}

// wrapped takes in the command behind a wrapper's options.
func (r *reading) wrapped(base string, args []arg) {
	if opaque[base] {
		r.fault("%s runs or changes what the line does not show", base)
	}
	if _, ok := wrappers[base]; !ok {
		return
	}
	if rest, ok := r.strip(base, args); ok {
		r.call(rest)
	}
}

// strip is args without the options of the wrapper, its own words and the
// variables it sets.
func (r *reading) strip(base string, args []arg) (rest []arg, ok bool) {
	w := wrappers[base]
	rest, err := w.options(args)
	for range w.skip {
		if err == nil && len(rest) > 0 {
			if err = rest[0].hidden(); err == nil {
				rest = rest[1:]
			}
		}
	}
	if err != nil {
		r.fault("%s: %w", base, err)
		return nil, false
	}
	for len(rest) > 0 && strings.Contains(rest[0].text, "=") {
		r.doubts("sets a variable")
		rest = rest[1:]
	}
	return rest, true
}

// joinedScript takes in what a command makes a line of from its arguments.
func (r *reading) joinedScript(args []arg) {
	text, ok := joined(args)
	if !ok {
		r.fault("a command line is known only when it runs")
		return
	}
	if text != "" {
		r.script(text)
	}
}

// ssh takes in the line for the other machine; options may stand on both sides
// of its name.
func (r *reading) ssh(args []arg) {
	rest, ok := r.strip("ssh", args)
	if !ok {
		return
	}
	rest, err := wrappers["ssh"].options(rest)
	switch {
	case err != nil:
		r.fault("ssh: %w", err)
	case len(rest) == 0:
		r.fault("ssh runs what the line does not show")
	default:
		r.joinedScript(rest)
	}
}

// jobs takes in the command of bash's jobs -x.
func (r *reading) jobs(args []arg) {
	for i, a := range args {
		switch {
		case !a.fixed:
			r.fault("jobs: a word is known only when it runs")
		case a.text == "-x":
			r.call(args[i+1:])
			return
		case strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "x"):
			r.fault("jobs: %w", unknown(a.text))
		}
	}
}

// test faults what may be a test of a computed variable.
func (r *reading) test(args []arg) {
	for _, a := range args {
		if !a.fixed || a.text == "-v" || a.text == "-R" {
			r.fault("a test of a computed variable may run commands")
		}
	}
}
