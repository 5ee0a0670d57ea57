package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
	c.names, c.writes, c.err = Commands(line)
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
	maxWhat  = 500 // characters of what a person is asked about
	maxValue = 120 // of one argument in it: a long one must not hide the next
)

// short is a call for people: the tool and its arguments by name.
func short(tool string, args json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return cutMiddle(tool + " " + string(args))
	}
	words := []string{tool}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, name+"="+cut(string(fields[name]), maxValue))
	}
	return cutMiddle(strings.Join(words, " "))
}

// cutMiddle is s for people, head and tail of it when it is too long. What a
// terminal or a page would not show as a character is shown as its code.
func cutMiddle(s string) string { return cut(visible(s), maxWhat) }

func cut(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	const room = 40 // for the mark
	half := (most - room) / 2
	return string(runes[:half]) + " … " + strconv.Itoa(len(runes)-2*half) + " characters more … " + string(runes[len(runes)-half:])
}

func visible(s string) string {
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		if c == '\n' || unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
	}
	return b.String()
}
