package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agenthost/internal/control"
	"agenthost/internal/eval"

	"github.com/spf13/cobra"
)

// hostile is what no terminal is to get of others: C0, C1 as a character and as
// a byte, and what turns text around.
const hostile = "a\x1b[2J\u009b2J\x9b2J\u202eb\u2066c\u200fd\x7f\re"

func steersTerminal(text string) bool {
	return strings.ContainsAny(text, "\x1b\u009b\u202e\u2066\u200f\x7f\r") || strings.Contains(text, "\x9b2J") && !strings.Contains(text, "\uFFFD2J")
}

func TestPrintable(t *testing.T) {
	if got, want := printable(hostile), "a[2J2J\uFFFD2Jbcde"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := printable("a\n\tשלום"), "a\n\tשלום"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestForeignTextDoesNotSteerTheTerminal(t *testing.T) {
	tests := map[string]func(a *app) error{
		"an error":   func(a *app) error { a.started = true; a.report(&cobra.Command{}, errors.New(hostile)); return nil },
		"misuse":     func(a *app) error { a.report(&cobra.Command{}, errors.New(hostile)); return nil },
		"a warning":  func(a *app) error { a.warn("%s", hostile); return nil },
		"a question": func(a *app) error { a.confirm(hostile); return nil },
		"JSON":       func(a *app) error { return a.printJSON(map[string]string{"text": hostile}) },
		"a reload": func(a *app) error {
			a.printReloaded([]control.Reloaded{{Host: hostile, Changes: []string{hostile}, Restart: []string{hostile}}})
			return nil
		},
		"an outcome": func(a *app) error { a.printOutcome(hostile, eval.Outcome{Text: hostile, Error: hostile}); return nil },
		"a note":     func(a *app) error { return a.listNotes([]control.Note{{ID: hostile, Agent: hostile, Text: hostile}}) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
			if err := do(a); err != nil {
				t.Fatal(err)
			}
			if got := out.String() + errs.String(); steersTerminal(got) || got == "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestPrintableJSONSaysTheSame(t *testing.T) {
	data, err := json.Marshal(map[string]string{"\u009b": hostile})
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	safe := printableJSON(data)
	if err := json.Unmarshal(safe, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) || steersTerminal(string(safe)) {
		t.Errorf("got %s: %q, %v, want %q", safe, got, err, want)
	}
}
