package tools

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agenthost/internal/shell"
)

// A command is a command line and what was read in it.
type command struct {
	line   string
	names  []string
	writes bool
	err    error
}

func readCommand(line string) command {
	c := command{line: line}
	c.names, c.writes, c.err = shell.Commands(line)
	return c
}

// key has no approval stand for more than a person saw: a line that hides
// something stands for itself only. No name has a space in it, or is ">".
func (c command) key(tool string) string {
	if c.err != nil {
		return tool + "=" + c.line
	}
	names := c.names
	if c.writes {
		names = append(slices.Clip(names), ">")
	}
	return tool + ":" + strings.Join(names, " ")
}

const (
	maxWhat  = 3000 // characters of what a person is asked about
	maxValue = 300  // of one argument, when all of them have no room: a long one must not hide the next
)

// short is a call for people: the tool and its arguments by name.
func short(tool string, args json.RawMessage) string {
	if whole := visible(spelledOut(tool, args, len(args))); utf8.RuneCountInString(whole) <= maxWhat {
		return whole
	}
	return abridged(visible(spelledOut(tool, args, maxValue)))
}

// Whole is a call for people with everything in it, an argument a line. A text of
// several lines stands below its name, each line behind two spaces, so that none
// passes for another argument.
func Whole(tool string, args json.RawMessage) string {
	fields, ok := fieldsOf(args)
	if !ok {
		return ShownName(tool) + "\n" + visible(string(args))
	}
	lines := []string{ShownName(tool)}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, oneLine(name)+"="+wholeValue(fields[name]))
	}
	return strings.Join(lines, "\n")
}

// wholeValue is the value of an argument as Whole shows it.
func wholeValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil || !strings.Contains(text, "\n") {
		var compact bytes.Buffer
		_ = json.Compact(&compact, value) // it was decoded already
		return visible(legible(compact.Bytes()))
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("\n  ")
		for n, piece := range strings.Split(line, "\t") { // which code is indented by
			if n > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(visible(piece))
		}
	}
	return b.String()
}

// spelledOut is a call on one line, each argument cut after so many characters.
func spelledOut(tool string, args json.RawMessage, most int) string {
	fields, ok := fieldsOf(args)
	if !ok {
		return ShownName(tool) + " " + string(args)
	}
	words := []string{ShownName(tool)}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, name+"="+head(legible(fields[name]), most))
	}
	return strings.Join(words, " ")
}

func fieldsOf(args json.RawMessage) (fields map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(args, &fields)
	return fields, err == nil
}

// legible is JSON without the escapes that only HTML needs.
func legible(value json.RawMessage) string { return unescape.Replace(string(value)) }

var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func oneLine(s string) string { return strings.ReplaceAll(visible(s), "\n", `\n`) }

// Shown is a text for people who approve it: a command line, a diff. What a terminal
// or a page would not show as a character is shown as its code.
func Shown(line string) string {
	shown := visible(line)
	if utf8.RuneCountInString(shown) <= maxWhat {
		return shown
	}
	return abridged(shown)
}

// abridged is the beginning of s, and that there is more of it. Never the
// middle is left out: what is read before and after it would pass for the whole.
func abridged(s string) string {
	return head(s, maxWhat-200) + "\nThis is not all of it: see the rest with \"agenthost approvals show\" before you approve."
}

// head is the beginning of s with how much follows it.
func head(s string, most int) string {
	left := utf8.RuneCountInString(s) - most
	if left <= 0 {
		return s
	}
	return string([]rune(s)[:most]) + "… and " + grouped(left) + " more characters"
}

// grouped is n with a comma between the thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
