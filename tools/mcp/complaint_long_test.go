//go:build long

package mcp_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/tools"
	"agenthost/tools/mcp"
)

// An answer to no request leaves the connection of a program and its calls alone,
// whatever its length and in a list too.
func TestComplaintsOfAProgram(t *testing.T) {
	t.Parallel()
	for _, role := range slices.Concat(slices.Collect(maps.Keys(complaining)), []string{"lists", "odd"}) {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			var said bustest.LogBuffer
			w := openLogged(t, map[string]tools.MCPConfig{"s": stdio(role)}, mcp.Options{Log: zerolog.New(&said)})
			w.pool.Await(t.Context())
			bustest.Eventually(t, "the tools of the server", func() bool { return len(w.client().Tools()) > 0 })
			var calls sync.WaitGroup
			for range 2 {
				calls.Go(func() {
					res, err := w.tool("s.echo").Run(bustest.Context(t), call(`{"text":"hi"}`))
					if err != nil || !strings.HasPrefix(res.Text, "hi") {
						t.Errorf("got %+v, %v", res, err)
					}
				})
			}
			calls.Wait()
			w.stop()
			wantLeftOut(t, said.String())
		})
	}
}

// An answer to no request in the response to a call is not the end of the session,
// nor of the call.
func TestComplaintInTheAnswerToACall(t *testing.T) {
	t.Parallel()
	events := func(before, after string) func(string) string {
		return func(answer string) string { return before + "data: " + answer + after + "\n\n" }
	}
	tests := map[string]struct {
		json bool
		sent func(answer string) string
	}{
		"event":                     {false, events("event: message\ndata: "+complaint+"\n\n", "")},
		"long event":                {false, events("data: "+longComplaint(70<<10, true)+"\n\n", "")},
		"too long event":            {false, events("id: 1\ndata: "+longComplaint(17<<20, true)+"\n\n", "")},
		"event with CRLF":           {false, events("event: message\r\ndata: "+complaint+"\r\n\r\n", "")},
		"event in two lines":        {false, events(`data: {"jsonrpc":"2.0","id":null,`+"\n"+`data: "error":{"code":-32700,"message":"Parse error"}}`+"\n\n", "")},
		"list":                      {false, events("data: ["+complaint+"]\n\n", "")},
		"list with the answer":      {false, events("data: ["+complaint+",\n", "]")},
		"list of very many":         {false, events("data: ["+strings.Repeat("{},", 1<<20)+complaint+"]\n\ndata: "+complaint+"\n\n", "")},
		"JSON list with the answer": {true, func(answer string) string { return "[" + complaint + "," + answer + "]" }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := openShop(t)
			var said bustest.LogBuffer
			w := openLogged(t, map[string]tools.MCPConfig{"s": {URL: s.url}}, mcp.Options{Log: zerolog.New(&said)})
			w.pool.Await(t.Context())
			held := s.hold(w.tool("s.pay"), 2)
			s.answersOnce("one", func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
				write(rw, tt.json, tt.sent(recorded(next, req, true)), false)
			})
			s.wantDid(sell(w.tool("s.pay"), order{Text: "one"}))
			s.release()
			s.wantDid(held...)
			if n := s.sessions(); n != 1 {
				t.Errorf("%d sessions, want 1", n)
			}
			w.stop()
			wantLeftOut(t, said.String())
		})
	}
}
