package agenthost_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A command line of a page: what follows agenthost, up to a pipe or a comment.
type commandLine struct {
	page, text string
}

var (
	inBlock = regexp.MustCompile(`(?:^|[|;&] *)(?:agenthost|go run \./cmd/agenthost)((?: [^|;&#]+)?)`)
	inText  = regexp.MustCompile("`agenthost( [a-z][^`]*)`")
	quoted  = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	flagged = regexp.MustCompile(`^--?[a-z][a-z-]*`)
)

func commandLines(t *testing.T) []commandLine {
	t.Helper()
	var list []commandLine
	for _, f := range fences(t, "sh") {
		for line := range strings.Lines(f.text) {
			for _, m := range inBlock.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				list = append(list, commandLine{f.String(), m[1]})
			}
		}
	}
	for _, page := range pages(t) {
		for _, m := range inText.FindAllStringSubmatch(read(t, page), -1) {
			list = append(list, commandLine{page, m[1]})
		}
	}
	return list
}

// Every command and flag that a page shows is one that --help knows.
func TestCommandsInDocs(t *testing.T) {
	t.Parallel()
	m := manual{binary: built(t), known: map[string]string{}}
	for _, c := range commandLines(t) {
		fields := strings.Fields(quoted.ReplaceAllString(c.text, "TEXT"))
		command := m.command(t, fields)
		if command == "" {
			t.Errorf("%s: there is no command agenthost%s", c.page, c.text)
		}
		for _, field := range fields {
			flag := flagged.FindString(field)
			if flag != "" && !regexp.MustCompile(`[ ,]`+flag+`\b`).MatchString(m.help(t, command)) {
				t.Errorf("%s: agenthost%s has no flag %s", c.page, command, flag)
			}
		}
	}
}

// A manual is what --help says.
type manual struct {
	binary string
	known  map[string]string // by command
}

// command is the longest command that fields begin with, each word after a
// blank; empty when there is none.
func (m manual) command(t *testing.T, fields []string) string {
	t.Helper()
	command := ""
	for _, word := range fields {
		if !strings.Contains(m.help(t, command), "\n  "+word+" ") {
			break
		}
		command += " " + word
	}
	return command
}

func (m manual) help(t *testing.T, command string) string {
	t.Helper()
	if help, ok := m.known[command]; ok {
		return help
	}
	out, err := exec.CommandContext(t.Context(), m.binary, append(strings.Fields(command), "--help")...).Output()
	if err != nil {
		t.Fatalf("agenthost%s --help: %v", command, err)
	}
	m.known[command] = string(out)
	return string(out)
}
