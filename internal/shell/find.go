package shell

import (
	"slices"
	"strings"
)

// appended stands for the words that xargs and the like put behind the command.
var appended = arg{}

// find takes in what find runs, deletes and writes. A word that only the run
// tells may be any of these.
func (r *reading) find(args []arg) {
	for i := 0; i < len(args); i++ {
		if !args[i].fixed {
			r.fault("find: a word is known only when it runs")
			continue
		}
		switch text := args[i].text; {
		case text == "-delete":
			r.names["rm"] = true
			r.writes = true
		case text == "-fls", strings.HasPrefix(text, "-fprint"):
			r.writes = true
		case text == "-exec", text == "-execdir", text == "-ok", text == "-okdir":
			r.elsewhere = r.elsewhere || strings.HasSuffix(text, "dir")
			end := execEnd(args[i+1:])
			if slices.ContainsFunc(args[i+1:i+1+end], func(a arg) bool { return a.fixed && a.text == "+" }) {
				r.fault("find: a + ends a command for some and not for others")
			}
			r.call(withHoles(args[i+1:i+1+end], "{}"))
			i += end
		}
	}
}

// execEnd is the number of words of the command of a find -exec.
func execEnd(args []arg) int {
	for i, a := range args {
		if a.fixed && (a.text == ";" || a.text == "+" && i > 0 && args[i-1].text == "{}") {
			return i
		}
	}
	return len(args)
}

// withHoles is args in which the words that hold mark are not fixed: something
// is put in its place.
func withHoles(args []arg, mark string) []arg {
	args = slices.Clone(args)
	for i := range args {
		args[i].fixed = args[i].fixed && !strings.Contains(args[i].text, mark)
	}
	return args
}

// xargs takes in the command behind the options and the words that will be
// appended to it.
func (r *reading) xargs(args []arg) {
	rest, ok := r.strip("xargs", args)
	if !ok || len(rest) == 0 {
		return
	}
	for i, a := range args[:len(args)-len(rest)] {
		if mark, short := strings.CutPrefix(a.text, "-I"); short {
			if mark == "" {
				mark = args[i+1].text
			}
			rest = withHoles(rest, mark)
		} else if strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "I") {
			r.fault("xargs: %w", unknown(a.text)) // -0I{}: where the mark is takes too long to tell
		}
	}
	r.call(append(slices.Clip(rest), appended))
}

// parallel takes in the command behind the options. It goes through a shell:
// only words that mean themselves there are taken for what they say.
func (r *reading) parallel(args []arg) {
	rest, ok := r.strip("parallel", args)
	if !ok {
		return
	}
	if end := slices.IndexFunc(rest, func(a arg) bool { return strings.HasPrefix(a.text, ":::") }); end >= 0 {
		rest = rest[:end]
	}
	line, ok := joined(rest)
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		r.fault("parallel runs what the line does not show")
		return
	}
	command := make([]arg, len(words), len(words)+1)
	for i, word := range words {
		text := strings.ReplaceAll(word, "{}", "")
		if text != "" && !plainName(strings.TrimLeft(text, "-")) {
			r.fault("parallel: %q means something to the shell", word)
			r.script(line)
			return
		}
		command[i] = arg{word, text == word}
	}
	r.call(append(command, appended))
}
