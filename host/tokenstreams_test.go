package host_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/plugins/settings"
)

// open makes a request with a token, and returns the answer as it begins.
func open(t *testing.T, h *host.Host, token, method, path, body string, header ...string) (http.Header, io.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d", path, res.StatusCode)
	}
	return res.Header, res.Body
}

// What is heard of a chat, and by a client of MCP, ends with its token, as logins do.
func TestStreamsOfARevokedToken(t *testing.T) {
	t.Parallel()
	cfg := apiFleet(t)
	cfg.Plugins.Web = &settings.Web{}
	cfg.Agents[0].Channels = append(cfg.Agents[0].Channels, agents.Binding{Channel: "web"})
	h, _ := start(t, cfg)
	made := struct{ Token string }{}
	orderAPI(t, h, "/api/tokens/add", map[string]any{"name": "wall", "role": "chat"}).into(t, &made)
	waittest.Until(t, "the token counts", func() bool {
		return callAPI(t, h, made.Token, http.MethodGet, "/chat/api/me", "").code == http.StatusOK
	})
	opened, _ := open(t, h, made.Token, http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	_, chat := open(t, h, made.Token, http.MethodGet, "/chat/api/events?agent=demo&conversation=main", "")
	_, mcp := open(t, h, made.Token, http.MethodGet, "/mcp", "", "Accept", "text/event-stream", "Mcp-Session-Id", opened.Get("Mcp-Session-Id"))
	orderAPI(t, h, "/api/tokens/revoke", map[string]any{"name": "wall"})
	for name, stream := range map[string]io.Reader{"chat": chat, "MCP": mcp} {
		end := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, stream)
			end <- err
		}()
		if err := waittest.For(t, "the stream ends: "+name, end); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
