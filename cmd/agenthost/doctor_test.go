package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"agenthost/internal/cli"
	"agenthost/internal/doctor"

	"github.com/google/go-cmp/cmp"
)

// What a program reads of it has these keys.
func TestDoctorJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	file := "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}, bad: {provider: openai, model: m}}\nagents: [{id: ana, model: [main, bad]}]\n"
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := call(t, cli.CodeFailed, "", "doctor", "--offline", "--json")
	if stderr != "" {
		t.Errorf("standard error: %q", stderr)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(report))
	if diff := cmp.Diff([]string{"config", "failures", "findings", "offline", "ok", "warnings"}, keys); diff != "" {
		t.Error(diff)
	}
	var typed doctor.Report
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&typed); err != nil {
		t.Fatal(err)
	}
	if !typed.Offline || typed.Config != cli.DefaultConfig || typed.Failures != 1 || typed.Warnings != 2 {
		t.Errorf("got %+v", typed)
	}
	for _, f := range typed.Findings {
		if f.Group == "" || f.About == "" || f.Text == "" || f.Verdict == "" {
			t.Errorf("got %+v", f)
		}
	}
}

// Of a file that is not there no line is wrong.
func TestDoctorOfAMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout, _ := call(t, cli.CodeFailed, "", "doctor", "-c", "none.yaml", "--offline")
	if !strings.Contains(stdout, "none.yaml: no such file or folder") || !strings.Contains(stdout, "→ correct that file, or name another with -c\n") {
		t.Errorf("got\n%s", stdout)
	}
}

// What a server said cannot pass for lines of ours, nor steer a terminal.
func TestToldIsOneLine(t *testing.T) {
	f := doctor.Finding{Group: "models", About: "main", Text: "it says: a\n  ok    all\x1b[2J is well"}
	if got := told(f); strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestDoctorQuietPrintsOnlyFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}, bad: {provider: openai, model: m}}\nagents: [{id: ana, model: [main, bad]}]\n")
	stdout, _ := call(t, cli.CodeFailed, "", "doctor", "--offline", "--quiet")
	if strings.Contains(stdout, "  ok ") || !strings.Contains(stdout, "  fail  ") || !strings.Contains(stdout, "models\n") {
		t.Errorf("got\n%s", stdout)
	}
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n")
	if stdout, _ := call(t, cli.CodeDone, "", "doctor", "--offline", "--quiet"); stdout != "" {
		t.Errorf("all is well: got %q", stdout)
	}
}

// put writes the configuration of the working folder.
func put(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(cli.DefaultConfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
