package main

import (
	"strings"
	"testing"

	"agenthost/internal/cli"
)

// What a flag can be is offered without a host, and no files in its place.
func TestCompletionOfWords(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"run --log-level ":            "trace debug info warn error :4",
		"approvals answer x --scope ": "once session always :4",
		"tokens add x --role ":        "admin read chat :4",
		"nats-permissions --for ":     "host cli auditor caller plugin: program: hook: :6",
		"backup ":                     ":16",
		"restore ":                    ":16",
	} {
		t.Run(line, func(t *testing.T) {
			stdout, _ := call(t, cli.CodeDone, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
			if got := strings.Join(strings.Fields(stdout), " "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
