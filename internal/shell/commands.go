// Package shell finds the commands that a shell would run for a command line,
// without running it.
package shell

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLine  = 16 << 10 // bytes of a command line that is looked into
	maxDepth = 5        // command lines in command lines, as in `sh -c "eval '…'"`
)

// Commands returns the names of all commands that the shell would run for line,
// sorted: those in pipes, substitutions and functions, those a wrapper like
// sudo, xargs, find -exec or sh -c runs for the line, and the wrappers. A name
// is as it is written, a path with its folders. writes tells that the line
// opens a file for writing, or a connection, by a redirection.
//
// An error tells that not everything the line does can be seen in it: it does
// not parse, shells read it differently, a name is computed, a variable is set
// that may change what a name means. The names are then those that were seen, good enough to deny the line
// and not to allow it. Without an error there is at least one name. A DoubtError is an error where all were seen.
//
// What a command does by itself is not seen: `git -c alias.x='!rm y' x` is git.
func Commands(line string) (names []string, writes bool, err error) {
	r := reading{names: map[string]bool{}}
	r.script(line)
	names = slices.Sorted(maps.Keys(r.names))
	r.checkFolder()
	switch {
	case r.err != nil:
		return names, r.writes, r.err
	case r.doubt != "":
		return names, r.writes, r.doubt
	case len(names) == 0:
		return names, r.writes, errors.New("no command")
	}
	return names, r.writes, nil
}

// A DoubtError is why a name that the line shows may mean another program than it does elsewhere.
type DoubtError string

func (d DoubtError) Error() string { return string(d) }

// A reading is what is known of a line so far.
type reading struct {
	names     map[string]bool
	writes    bool
	elsewhere bool       // runs commands in a folder that is not the one it starts in
	err       error      // the first
	doubt     DoubtError // likewise
	depth     int
}

func (r *reading) doubts(why DoubtError) { r.doubt = cmp.Or(r.doubt, why) }

func (r *reading) fault(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// script reads a line, or what a command of it takes for one. It is read twice: a
// host may have no bash, and what bash takes for a quoted word another shell may
// run. A command counts when either runs it.
func (r *reading) script(text string) {
	switch {
	case r.depth == maxDepth:
		r.fault("commands in commands more than %d deep", maxDepth)
		return
	case len(text) > maxLine:
		r.fault("longer than %d bytes", maxLine)
		return
	case !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r"):
		r.fault("bytes that shells read differently")
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	bash, failed := r.parse(text, syntax.LangBash)
	if failed != nil {
		r.fault("parse: %w", failed)
	}
	// Where the other reading ends early, the other shells may go on: what only bash
	// takes for no command is one to them.
	if _, failed := r.parse(text, syntax.LangPOSIX); failed != nil && slices.ContainsFunc(bash, onlyOfBash) {
		r.fault("shells read it differently")
	}
}

// parse looks at the statements up to the first that does not parse: a shell
// reads statement by statement and has run those before.
func (r *reading) parse(text string, lang syntax.LangVariant) ([]*syntax.Stmt, error) {
	var stmts []*syntax.Stmt // a here-document is only complete when the next statement was read
	var failed error
	for stmt, err := range syntax.NewParser(syntax.Variant(lang)).StmtsSeq(strings.NewReader(text)) {
		// No break: the parser goes on after it, and panics.
		if failed = cmp.Or(failed, err); failed == nil {
			stmts = append(stmts, stmt)
		}
	}
	r.ambiguous(text, stmts)
	for _, stmt := range stmts {
		syntax.Walk(stmt, r.visit)
	}
	return stmts, failed
}

// call takes in a command with its arguments, and what it runs in turn.
func (r *reading) call(args []arg) {
	if len(args) == 0 {
		return
	}
	name := args[0]
	switch {
	case !name.fixed:
		r.fault("the name of a command is known only when it runs")
	case name.text == "[[":
		// Only POSIX takes it for a name; the words that follow are no commands
		// of it, and what is one by its own was seen.
	case !plainName(name.text):
		r.fault("%q is an unusual name of a command", name.text)
	default:
		r.names[name.text] = true
		r.payload(strings.ToLower(path.Base(name.text)), args[1:])
	}
}

// plainName reports whether s can be shown, listed and put into a key without
// being mistaken for something else.
func plainName(s string) bool {
	if s == "[" {
		return true
	}
	odd := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._+-/:@%,^", c)
	}
	return s != "" && s[0] != '-' && !strings.HasSuffix(s, "/") && !strings.ContainsFunc(s, odd)
}

// checkFolder faults a line that goes elsewhere and runs a command by its place
// there: the name does not tell which file that is.
func (r *reading) checkFolder() {
	if !r.elsewhere && !r.names["cd"] && !r.names["pushd"] && !r.names["popd"] {
		return
	}
	for name := range r.names {
		if strings.Contains(name, "/") && !path.IsAbs(name) {
			r.doubts("a command of another folder")
		}
	}
}
