package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

func TestAgeReadsDurationsAndDates(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"90m":                  now.Add(-90 * time.Minute),
		"2d":                   now.Add(-48 * time.Hour),
		"2026-11-20":           time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local),
		"2026-11-20 08:30:00":  time.Date(2026, 11, 20, 8, 30, 0, 0, time.Local),
		"2026-11-20T08:30:00Z": time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC),
	} {
		a := Age{}
		if err := a.Set(text); err != nil || !a.From(now).Equal(want) {
			t.Errorf("%s: got %s, %v; want %s", text, a.From(now), err, want)
		}
	}
	for _, text := range []string{"", "d", "-2d", "0d", "110000d", "-1h", "0s", "yesterday", "2026-13-01"} {
		if err := new(Age).Set(text); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
	if all := (&Age{}).From(now); !all.IsZero() {
		t.Errorf("without --since: got %s", all)
	}
}

func TestElapsedHasTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", time.Hour + time.Minute: "1h01m", 50 * time.Hour: "2d02h",
	} {
		if got := Elapsed(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

// A list that is watched is shown again when it has changed, and not else.
func TestWatchShowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		a := &App{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := a.watch(ctx, func(context.Context) error {
			if calls++; calls == 5 {
				cancel()
			}
			_, err := a.Stdout.Write([]byte(strings.Repeat("x", calls/2) + "\n"))
			a.Warn("a fault")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := "\nagenthost: a fault\nx\nagenthost: a fault\nxx\nagenthost: a fault\n"
		if got := stdout.String(); got != want || stderr.Len() > 0 {
			t.Errorf("got %q and %q, want %q", got, stderr.String(), want)
		}
		if a.Stdout != &stdout || a.Stderr != &stderr {
			t.Error("what follows goes elsewhere")
		}
		wrong := errors.New("wrong")
		if err := a.watch(t.Context(), func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("got %v", err)
		}
	})
}

// A command that lists something shows it once, or again and again with --watch, and
// keeps what --agent and --since leave in.
func TestListFlagsOfACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := []struct {
			agent string
			age   time.Duration
		}{{"ana", 30 * time.Minute}, {"ana", 2 * time.Hour}, {"bob", 30 * time.Minute}, {"bob", 50 * time.Hour}}
		begun := time.Now()
		// list is what a command prints in ten seconds, in which bob gets a new row.
		list := func(args ...string) string {
			var stdout bytes.Buffer
			a := &App{Stdout: &stdout, Stderr: &stdout, Getenv: func(string) string { return "" }}
			l, cmd := &ListFlags{}, &cobra.Command{Use: "ls", SilenceErrors: true, SilenceUsage: true}
			start := time.Now()
			l.Register(a, cmd, func(context.Context) error {
				for _, row := range rows {
					if l.Keeps(row.agent, begun.Add(-row.age)) {
						fmt.Fprint(a.Stdout, row.agent, " ", row.age, "; ")
					}
				}
				if time.Since(start) > 5*time.Second {
					fmt.Fprint(a.Stdout, "bob new; ")
				}
				return nil
			})
			cmd.SetArgs(args)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := cmd.ExecuteContext(ctx); err != nil {
				t.Fatalf("%q: %v", args, err)
			}
			if watched := time.Since(start) == 10*time.Second; watched != slices.Contains(args, "--watch") {
				t.Errorf("%q: it took %s", args, time.Since(start))
			}
			return stdout.String()
		}
		for args, want := range map[string]string{
			"":                       "ana 30m0s; ana 2h0m0s; bob 30m0s; bob 50h0m0s; ",
			"--since 1h":             "ana 30m0s; bob 30m0s; ",
			"--since 2d":             "ana 30m0s; ana 2h0m0s; bob 30m0s; ",
			"--since 2999-01-01":     "",
			"--agent ana":            "ana 30m0s; ana 2h0m0s; ",
			"ana":                    "ana 30m0s; ana 2h0m0s; ",
			"--agent bob --since 1h": "bob 30m0s; ",
			"--watch --since 1h":     "ana 30m0s; bob 30m0s; " + "ana 30m0s; bob 30m0s; bob new; ",
		} {
			if got := list(strings.Fields(args)...); got != want {
				t.Errorf("%q: got %q, want %q", args, got, want)
			}
		}
	})
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false} {
		var out bytes.Buffer
		a := &App{Stdin: strings.NewReader(answer), Stderr: &out}
		if got := a.Confirm(t.Context(), "delete?"); got != want {
			t.Errorf("%q: got %v, want %v", answer, got, want)
		}
		if out.String() != "delete? [y/N] " {
			t.Errorf("asked %q", out.String())
		}
	}
}
