package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
	for _, text := range []string{"", "d", "-2d", "0d", "-1h", "0s", "yesterday", "2026-13-01"} {
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

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false} {
		var out bytes.Buffer
		a := &App{Stdin: strings.NewReader(answer), Stderr: &out}
		if got := a.Confirm("delete?"); got != want {
			t.Errorf("%q: got %v, want %v", answer, got, want)
		}
		if out.String() != "delete? [y/N] " {
			t.Errorf("asked %q", out.String())
		}
	}
}
