package main

import (
	"bytes"
	"context"
	"errors"
	"os"
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
		a := age{}
		if err := a.Set(text); err != nil || !a.from(now).Equal(want) {
			t.Errorf("%s: got %s, %v; want %s", text, a.from(now), err, want)
		}
	}
	for _, text := range []string{"", "d", "-2d", "0d", "-1h", "0s", "yesterday", "2026-13-01"} {
		if err := new(age).Set(text); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
	if all := (&age{}).from(now); !all.IsZero() {
		t.Errorf("without --since: got %s", all)
	}
}

func TestElapsedHasTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", time.Hour + time.Minute: "1h01m", 50 * time.Hour: "2d02h",
	} {
		if got := elapsed(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

// A list that is watched is shown again when it has changed, and not else.
func TestWatchShowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		a := &app{stdout: &stdout, stderr: &stderr, getenv: func(string) string { return "" }}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := a.watch(ctx, func(context.Context) error {
			if calls++; calls == 5 {
				cancel()
			}
			_, err := a.stdout.Write([]byte(strings.Repeat("x", calls/2) + "\n"))
			a.warn("a fault")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := "\nagenthost: a fault\nx\nagenthost: a fault\nxx\nagenthost: a fault\n"
		if got := stdout.String(); got != want || stderr.Len() > 0 {
			t.Errorf("got %q and %q, want %q", got, stderr.String(), want)
		}
		if a.stdout != &stdout || a.stderr != &stderr {
			t.Error("what follows goes elsewhere")
		}
		wrong := errors.New("wrong")
		if err := a.watch(t.Context(), func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("got %v", err)
		}
	})
}

func TestResolveShortIDs(t *testing.T) {
	ids := []string{"ana.s1.aaa", "ana.s1.abb", "bob.s2.ccc", "bob"}
	for short, want := range map[string]string{"ana.s1.aaa": "ana.s1.aaa", "ana.s1.ab": "ana.s1.abb", "ana.s1.aa…": "ana.s1.aaa", "bob": "bob", "bob.": "bob.s2.ccc", "x": "", "": "", "…": ""} {
		if got, err := resolve("id", short, ids); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", short, got, err, want)
		}
	}
	if _, err := resolve("id", "ana", ids); err == nil || !strings.Contains(err.Error(), `id "ana" is not unique: it begins ana.s1.aaa, ana.s1.abb; write more of it`) {
		t.Errorf("got %v", err)
	}
}

func TestAroundShowsThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"a bicycle":                          "a bicycle",
		strings.Repeat("日", 50) + " BICYCLE": "…" + strings.Repeat("日", 29) + " BICYCLE",
		"İİİİ bicycle":                       "İİİİ bicycle",
		"no such thing":                      "no such thing",
	} {
		if got := around(text, "bicycle"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestDoctorQuietPrintsOnlyFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}, bad: {provider: openai, model: m}}\nagents: [{id: ana, model: [main, bad]}]\n")
	stdout, _ := call(t, codeFailed, "", "doctor", "--offline", "--quiet")
	if strings.Contains(stdout, "  ok ") || !strings.Contains(stdout, "  fail  ") || !strings.Contains(stdout, "models\n") {
		t.Errorf("got\n%s", stdout)
	}
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n")
	if stdout, _ := call(t, codeDone, "", "doctor", "--offline", "--quiet"); stdout != "" {
		t.Errorf("all is well: got %q", stdout)
	}
}

// put writes the configuration of the working folder.
func put(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(defaultConfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
