//go:build long

package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// While nothing comes of a run, something goes out.
func TestAliveWhileAModelThinks(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ana","arguments":{"text":"endless"}}}`
	ctx, cancel := context.WithCancel(bustest.Context(t))
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, address(h), bytes.NewReader([]byte(body)))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": s.ID(), "Mcp-Protocol-Version": versions[0],
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() == ": working" {
			return
		}
	}
	t.Errorf("the stream has ended: %v", lines.Err())
}
