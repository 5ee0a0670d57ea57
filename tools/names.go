package tools

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CommandTool is the tool that runs commands, for which a permission may name
// one behind a colon.
const CommandTool = "run_command"

// BuiltIn are the names of the tools that a host has by itself.
func BuiltIn() []string {
	return []string{
		"ask_human", "delegate", "edit_file", "fetch_url", "forget", "list_files", "now", "read_file", "recall",
		"remember", "remind", CommandTool, "search_files", SkillTool, "write_file",
	}
}

const (
	// longestName is how many characters a server may give a tool as its name: as many as MCP.
	longestName = 128
	// longestShown is what of it a person reads, with the name of its server.
	longestShown = longestName + 64
)

// CheckName is an error when people could not tell by its name what a tool of a server is. A
// server may use all else: a model is given a name that its provider takes.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n > longestName:
		return fmt.Errorf("left out: its name has %s characters, %d are the most; give it a shorter one in the server", grouped(n), longestName)
	case oneLine(name) != name:
		return errors.New("left out: its name has characters that are not shown; give it another one in the server")
	}
	return nil
}

// ShownName is the name of a tool for people: on one line, in quotes where it could pass for
// more than a name, and of a long one the beginning.
func ShownName(name string) string {
	if utf8.RuneCountInString(name) <= longestShown {
		return Plain(name)
	}
	return quotedName(name)
}

// quotedName is ShownName always in quotes.
func quotedName(name string) string {
	runes := []rune(name)
	if len(runes) <= longestShown {
		return quote(name)
	}
	return fmt.Sprintf("%s… and %s more characters", quote(string(runes[:longestShown])), grouped(len(runes)-longestShown))
}

// Plain is a value in a sentence for people. One that could pass for more of the sentence is
// quoted.
func Plain(value string) string {
	simple := func(r rune) bool {
		return unicode.IsLetter(r) && shows(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/+@:?=&%~", r)
	}
	if value != "" && strings.IndexFunc(value, func(r rune) bool { return !simple(r) }) < 0 && utf8.RuneCountInString(value) <= maxValue {
		return value
	}
	return Shown(quote(value))
}

// quote is strconv.Quote without codes for what is seen as part of an emoji.
func quote(s string) string { return `"` + visible(escape.Replace(s)) + `"` }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
