package main

import (
	"os"
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

func TestCheckTellsOfFaultyOutputSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	file := "models: {m: {provider: echo}}\nagents:\n  - id: ana\n    output_schema: {type: objekt}\n"
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ := call(t, cli.CodeFailed, "", "check")
	contains(t, stdout, "agenthost.yaml:4:20: output_schema is no JSON Schema that can be read: /type: ")
}
