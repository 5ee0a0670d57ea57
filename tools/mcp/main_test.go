package mcp_test

import (
	"flag"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// roleVariable makes this test binary a server, or a helper of one.
const roleVariable = "MCP_TEST_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func(){
		"server": serveStdio, "raw": serveRaw, "helper": serveHelper, "modern": serveModern, "schemas": serveSchemas,
		"noisy": serveNoisy, "tail": serveTail, "conformance": beConformant,
		"events": func() { serveHTTP(nil) }, "json": func() { serveHTTP(&sdk.StreamableHTTPOptions{JSONResponse: true}) },
	}
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		os.Exit(0)
	}
	flag.Set("test.parallel", "8") // what is parallel waits; the command line goes before
	goleak.VerifyTestMain(m)
}
