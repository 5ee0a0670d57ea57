package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The trace of a call is in the _meta of its request, and in the headers where it
// goes by HTTP; other requests have none.
func TestCallCarriesTheTrace(t *testing.T) {
	t.Parallel()
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=00f067aa0ba902b7"
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "trace"}, func(_ context.Context, r *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
		h := r.Extra.Header
		return say("%v %v %s %s", r.Params.Meta["traceparent"], r.Params.Meta["tracestate"], h.Get("traceparent"), h.Get("tracestate"))
	})
	streamed := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	srv := httptest.NewServer(streamed)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		srv.Close()
	})
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
	w.until("the tool", func() bool { return len(w.client().Tools()) == 1 })
	c := call(`{}`)
	c.TraceParent, c.TraceState = parent, state
	res, err := w.client().Tools()[0].Run(t.Context(), c)
	if want := parent + " " + state + " " + parent + " " + state; err != nil || res.Text != want {
		t.Errorf("got %q, %v, want %q", res.Text, err, want)
	}
	res, err = w.client().Tools()[0].Run(t.Context(), call(`{}`))
	if want := "<nil> <nil>  "; err != nil || res.Text != want {
		t.Errorf("without a trace: got %q, %v, want %q", res.Text, err, want)
	}
}
