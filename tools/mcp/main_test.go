package mcp_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// roleVariable makes this test binary a server, or a helper of one.
const roleVariable = "MCP_TEST_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func(){
		"server": serveStdio, "raw": serveRaw, "helper": serveHelper, "modern": serveModern, "schemas": serveSchemas, "names": serveNames, "unreadable": serveUnreadable, "endless": func() { serveEndless(false) }, "endless tools": func() { serveEndless(true) },
		"noisy": serveNoisy, "cut": serveCut, "tail": serveTail, "conformance": beConformant,
		"lists": complainInLists, "odd": answerOddly,
		"events": func() { serveHTTP(nil) }, "json": func() { serveHTTP(&sdk.StreamableHTTPOptions{JSONResponse: true}) },
	}
	for name, words := range complaining {
		roles[name] = complain(words)
	}
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		os.Exit(0)
	}
	mcp.DoubtSoon()
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}
