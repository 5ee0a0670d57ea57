package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agenthost/internal/cli"
)

// What a host goes on without is a mistake all the same.
func TestCheckTellsOfTooManyHooks(t *testing.T) {
	t.Chdir(t.TempDir())
	file := "hooks:\n" + strings.Repeat("  - {on: before_message, subject: a}\n", 129)
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ := call(t, cli.CodeFailed, "", "check")
	contains(t, stdout, "agenthost.yaml:130:5: more than 128 hooks on before_message; ")
}

// What a host goes on without is told of beside what keeps it from starting, in the order
// of the file.
func TestCheckTellsAllAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("skills/broken/SKILL.md", "no front matter")
	for name, model := range map[string]string{"with what keeps it from starting": "zz", "alone": "m"} {
		write(cli.DefaultConfig, "models: {m: {provider: echo}}\nagents:\n  - id: ana\n    output_schema: {type: objekt}\n    skills: [broken]\n"+
			"  - id: ben\n    model: "+model+"\n"+
			"  - id: cem\n    output_schema: {type: listt}\nhooks:\n"+strings.Repeat("  - {on: before_message, subject: a}\n", 129))
		stdout, _ := call(t, cli.CodeFailed, "", "check")
		want := []string{"agenthost.yaml:4:20: ", "agenthost.yaml:9:20: ", "agenthost.yaml:139:5: ", "skills/broken/SKILL.md:1:1: "}
		if model == "zz" {
			want = slices.Insert(want, 1, `agenthost.yaml:7:12: there is no model "zz"`)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if !slices.EqualFunc(lines, want, strings.HasPrefix) {
			t.Errorf("%s: got\n%s\nwant lines that begin with %q", name, stdout, want)
		}
	}
}

func TestCheckTellsOfFaultyOutputSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	file := "models: {m: {provider: echo}}\nagents:\n  - id: ana\n    output_schema: {type: objekt}\n"
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ := call(t, cli.CodeFailed, "", "check")
	contains(t, stdout, "agenthost.yaml:4:20: output_schema is no JSON Schema that can be read: /type: ")
}
