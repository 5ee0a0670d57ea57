//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Who has only the output finds what the streams say of a violation, the faults and the errors.
func TestExplain(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"faults.log":     "12:00:00.000 cut from 11:59:59.000 on\n",
		"outbound.jsonl": "7 12:00:03.000 plugin.outbound.chat map[] says chat-p3-17\n8 12:00:04.000 plugin.outbound.chat map[] says chat-p3-171\n",
		"sessions.jsonl": "9 12:00:02.000 agent.session.ana.s map[] began chat-p3-17\n",
		"host-0.log":     `{"level":"info","message":"ready"}` + "\n" + `{"level":"error","message":"no"}` + "\npanic: oh\n[ERR] dial tcp 127.0.0.1:1: connection refused\n",
		"host-1.log":     `{"level":"info","message":"ready"}` + "\n",
	})
	var got strings.Builder
	explain(&got, dir, []string{"input chat-p3-17 has 2 ends"})
	want := `
violation: input chat-p3-17 has 2 ends
  sessions 9 12:00:02.000 agent.session.ana.s map[] began chat-p3-17
  outbound 7 12:00:03.000 plugin.outbound.chat map[] says chat-p3-17

the last faults:
  12:00:00.000 cut from 11:59:59.000 on

the last errors of host-0:
  {"level":"error","message":"no"}
  panic: oh
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However much is wrong, it fits on a few screens.
func TestExplainIsShort(t *testing.T) {
	var violations []string
	var faults, log, stream strings.Builder
	for n := range 5000 {
		violations = append(violations, fmt.Sprintf("input chat-p1-%d has 0 ends", n))
		fmt.Fprintf(&faults, "fault %d\n", n)
		fmt.Fprintf(&log, `{"level":"error","message":"%s"}`+"\n", strings.Repeat("no", 1000))
		fmt.Fprintf(&stream, "%d 12:00:00.000 chat-p1-0 chat-p1-1\n", n)
	}
	files := map[string]string{"faults.log": faults.String(), "sessions.jsonl": stream.String(), "outbound.jsonl": stream.String()}
	for n := range 6 {
		files[fmt.Sprintf("host-%d.log", n)] = log.String()
	}
	var got strings.Builder
	explain(&got, writeFiles(t, files), violations)
	if lines := strings.Count(got.String(), "\n"); lines > 150 || got.Len() > 50_000 {
		t.Errorf("got %d lines of %d bytes", lines, got.Len())
	}
}

func TestNamed(t *testing.T) {
	tests := map[string][]string{
		"input chat-p3-17 is in the runs 01jd4k2m3n4p5q6r7s8t9v0w1x and 01jd4k2m3n4p5q6r7s8t9v0w1y": {
			"01jd4k2m3n4p5q6r7s8t9v0w1x", "01jd4k2m3n4p5q6r7s8t9v0w1y", "chat-p3-17",
		},
		"the model was paid for 3 calls, the records count 2": nil,
		"input chat-g0-1 has 2 ends: chat-g0-1 chat-g0-1":     {"chat-g0-1"},
	}
	for violation, want := range tests {
		if diff := cmp.Diff(want, named(violation)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", violation, diff)
		}
	}
}

// A command that repeats a run has what was asked for and its seed, and no folder.
func TestAgain(t *testing.T) {
	o, _, err := parse([]string{"--for", "30s", "--dir", "/tmp/x", "--faults", "cut", "--seed", "7"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "make chaos CHAOS='--seed 7 --faults cut --for 30s'"; o.again != want {
		t.Errorf("got %q, want %q", o.again, want)
	}
}
