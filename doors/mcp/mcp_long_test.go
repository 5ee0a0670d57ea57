//go:build long

package mcp_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "ana", Arguments: map[string]any{"text": "endless"}})
	}()
	waittest.Until(t, "a run", func() bool { return runs(t, h) == 1 })
	req, _ := http.NewRequestWithContext(bustest.Context(t), http.MethodDelete, address(h), nil)
	req.Header.Set("Mcp-Session-Id", s.ID())
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("got %v, %v", resp, err)
	}
	resp.Body.Close()
	<-done
	if n := runs(t, h); n != 1 {
		t.Errorf("%d runs, want the one that goes on", n)
	}
}

// What a host that stops has taken is answered by the next: a client that calls again would have
// the work done twice. It takes nothing more.
func TestHostStopsUnderACall(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	at := "http://" + h.HTTP()
	s := connect(t, h, versions[0], nil)
	done := make(chan *sdk.CallToolResult, 1)
	go func() { done <- call(t, s, map[string]any{"text": "endless", "session": "s"}) }()
	waittest.Until(t, "a run", func() bool { return runs(t, h) == 1 })
	stored := h.Inbound(t)
	stopped := make(chan struct{})
	go func() { defer close(stopped); h.Stop() }()
	waittest.Until(t, "the host stops", func() bool {
		resp, err := http.Get(at + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return strings.Contains(string(body), "stopping")
	})
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"ana","messages":[{"role":"user","content":"hi"}]}`,
		"/a2a/ana":             `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`,
		"/mcp":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ana","arguments":{"text":"hi"}}}`,
	} {
		if status, answer := post(t, at+path, body); status != http.StatusServiceUnavailable || !strings.Contains(answer, "the host is stopping") {
			t.Errorf("POST %s: got %d, %s", path, status, answer)
		}
	}
	if n := h.Inbound(t); n != stored {
		t.Errorf("%d messages are stored, %d before", n, stored)
	}
	const want = `the host stops. ana has the message and answers it all the same, in session "s": do not send it again, ask there`
	if res := <-done; !res.IsError || !slices.Equal(words(res), []string{want}) || read(t, res).Session != "s" {
		t.Errorf("got %q, %+v", words(res), read(t, res))
	}
	<-stopped
}
