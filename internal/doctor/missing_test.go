package doctor_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/doctor"
	"agenthost/internal/waittest"
	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readServer is an MCP server with the one tool read.
func readServer(t *testing.T) (url string) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "read"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A name that the connected server does not offer is a misspelt tool, or a
// permission that holds nothing back.
func TestDoctorOfToolsThatAServerDoesNotOffer(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	url, _ := bustest.Server(t)
	cfg.NATS = bus.Config{URL: url}
	cfg.MCP = map[string]tools.MCPConfig{"files": {URL: readServer(t)}}
	cfg.Agents[0].Tools = []string{"files.raed", "files.*"}
	cfg.Agents[0].Permissions = map[string]string{"files.delete": "deny", "files.read": "ask"}
	h, _ := hosttest.Start(t, host.Options{Config: cfg, Name: "kiwi", Log: hosttest.Log(t)})
	if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte("hi")); err != nil { // its tools are needed
		t.Fatal(err)
	}
	want := []string{
		`agent "demo": tools: mcp server "files" does not offer "files.raed"; it offers files.read`,
		`agent "demo": permissions: mcp server "files" does not offer "files.delete"; it offers files.read`,
	}
	waittest.Until(t, "doctor names what the server does not offer", func() bool {
		var found []string
		for _, f := range (&doctor.Doctor{Config: cfg}).Examine(t.Context()).Findings {
			if f.About == "host kiwi" && f.Verdict == doctor.VerdictWarn {
				found = append(found, f.Text)
			}
		}
		return slices.Equal(found, want)
	})
}
