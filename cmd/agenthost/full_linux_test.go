package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"agenthost/internal/cli"
)

// What a file has no room for is not done.
func TestResultIntoAFullFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"config show", "config show --json", "nats-permissions --for cli", "version", "schema", "heartbeat --dry-run", "doctor --offline", "--help"} {
		t.Run(line, func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close()
			var stderr bytes.Buffer
			code := execute(t.Context(), strings.Fields(line), strings.NewReader(""), full, &stderr)
			if code != cli.CodeFailed || strings.Count(stderr.String(), "no space left on device") != 1 {
				t.Errorf("exit code %d, %s", code, stderr.String())
			}
		})
	}
}
