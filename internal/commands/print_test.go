package commands

import (
	"strings"
	"testing"

	"agenthost/client"
	"agenthost/internal/cli"
)

// hostile is what no terminal is to get of others.
const hostile = "a\x1b[2J\u009b2J\x9b2J\u202eb\u2066c\u200fd\x7f\re"

func steersTerminal(text string) bool {
	return strings.ContainsAny(text, "\x1b\u009b\u202e\u2066\u200f\x7f\r") || strings.Contains(text, "\x9b2J") && !strings.Contains(text, "\uFFFD2J")
}

func TestForeignTextDoesNotSteerTheTerminal(t *testing.T) {
	tests := map[string]func(a *app) error{
		"a reload": func(a *app) error {
			a.printReloaded([]client.Reloaded{{Host: hostile, Changes: []string{hostile}, Restart: []string{hostile}}})
			return nil
		},
		"a note": func(a *app) error {
			return a.listNotes(t.Context(), &cli.ListFlags{}, []client.Note{{ID: hostile, Agent: hostile, Text: hostile}})
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}}
			if err := do(a); err != nil {
				t.Fatal(err)
			}
			if got := out.String() + errs.String(); steersTerminal(got) || got == "" {
				t.Errorf("got %q", got)
			}
		})
	}
}
