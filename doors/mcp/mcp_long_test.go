//go:build long

package mcp_test

import (
	"net/http"
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
