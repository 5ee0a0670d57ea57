package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agenthost/internal/cli"
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

// pages are all that is written for people, by their path from here.
func pages(t *testing.T) []string {
	t.Helper()
	const root = "../.."
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
	for i := range files {
		files[i] = filepath.Join(root, files[i])
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// commandLines are those of the blocks for a shell, and those within the text.
func commandLines(t *testing.T) (list []commandLine) {
	t.Helper()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		open, shell := false, false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if info, mark := strings.CutPrefix(line, "```"); mark {
				open = !open
				shell = open && info == "sh"
			}
			if shell {
				for _, m := range inBlock.FindAllStringSubmatch(line, -1) {
					list = append(list, commandLine{page, m[1]})
				}
			}
		}
		for _, m := range inText.FindAllStringSubmatch(string(text), -1) {
			list = append(list, commandLine{page, m[1]})
		}
	}
	if len(list) == 0 {
		t.Fatal("no page shows a command")
	}
	return list
}

// Every command and flag that a page shows is one that --help knows.
func TestCommandsInDocs(t *testing.T) {
	t.Parallel()
	m := manual{}
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

// A manual is what --help says, by command.
type manual map[string]string

// command is the longest command that fields begin with, each word after a
// blank; empty when it begins with no command.
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
	if _, known := m[command]; !known {
		m[command], _ = call(t, cli.CodeDone, "", append(strings.Fields(command), "--help")...)
	}
	return m[command]
}
