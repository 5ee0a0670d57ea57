package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// hostile is what no terminal is to get of others: C0, C1 as a character and as
// a byte, and what turns text around.
const hostile = "a\x1b[2J\u009b2J\x9b2J\u202eb\u2066c\u200fd\x7f\re"

func steersTerminal(text string) bool {
	return strings.ContainsAny(text, "\x1b\u009b\u202e\u2066\u200f\x7f\r") || strings.Contains(text, "\x9b2J") && !strings.Contains(text, "\uFFFD2J")
}

func TestPrintable(t *testing.T) {
	if got, want := terminal.Printable(hostile), "a[2J2J\uFFFD2Jbcde"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := terminal.Printable("a\n\tשלום"), "a\n\tשלום"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestForeignTextDoesNotSteerTheTerminal(t *testing.T) {
	tests := map[string]func(a *App) error{
		"an error":   func(a *App) error { a.started = true; a.Report(&cobra.Command{}, errors.New(hostile)); return nil },
		"misuse":     func(a *App) error { a.Report(&cobra.Command{}, errors.New(hostile)); return nil },
		"a warning":  func(a *App) error { a.Warn("%s", hostile); return nil },
		"a question": func(a *App) error { a.Confirm(context.Background(), hostile); return nil },
		"JSON":       func(a *App) error { return a.PrintJSON(map[string]string{"text": hostile}) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			a := &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
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
	safe := PrintableJSON(data)
	if err := json.Unmarshal(safe, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) || steersTerminal(string(safe)) {
		t.Errorf("got %s: %q, %v, want %q", safe, got, err, want)
	}
}
