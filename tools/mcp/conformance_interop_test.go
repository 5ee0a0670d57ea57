//go:build interop && unix

package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// conformanceScenarios are those of the conformance suite that are about what this
// client does: the versions of the protocol, resumed streams, forms and OAuth.
var conformanceScenarios = []string{
	"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata", "http-standard-headers",
	"auth/metadata-default", "auth/pre-registration", "auth/token-endpoint-auth-post", "auth/scope-from-www-authenticate",
	"auth/resource-mismatch",
}

func TestInteropConformance(t *testing.T) {
	modules, err := filepath.Abs(filepath.Join(os.Getenv(npmVariable), "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range conformanceScenarios {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			suite := filepath.Join(modules, "@modelcontextprotocol/conformance/dist/index.js")
			cmd := exec.CommandContext(ctx, filepath.Join(modules, "node/bin/node"), suite, "client", "--command", os.Args[0], "--scenario", scenario)
			cmd.Env = append(os.Environ(), roleVariable+"=conformance")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
