//go:build long

package openai_test

import (
	"net/http"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// What cannot be done because NATS is away is to be asked again: 503 with Retry-After.
func TestWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	cfg := doorstest.Config(t, "")
	cfg.NATS = bus.Config{URL: url}
	h := doorstest.Serve(t, cfg)
	response := ask(t, h, "POST", "/v1/responses", map[string]any{"model": "ana", "input": "hi"}, nil).get(t, "id").(string)
	server.Stop()
	bustest.Eventually(t, "the host has noticed", func() bool { return !h.Bus().NC.IsConnected() })
	hi := map[string]any{"model": "ana", "messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	streamed := map[string]any{"model": "ana", "stream": true, "messages": hi["messages"]}
	for name, tt := range map[string]struct {
		method, path string
		body         any
		headers      header
	}{
		"chat":           {"POST", "/v1/chat/completions", hi, nil},
		"streamed":       {"POST", "/v1/chat/completions", streamed, nil},
		"with a key":     {"POST", "/v1/chat/completions", hi, header{"Idempotency-Key": "k"}},
		"in a session":   {"POST", "/v1/chat/completions", hi, header{"Agent-Session": "s"}},
		"repeated":       {"POST", "/v1/chat/completions", hi, header{"X-Stainless-Retry-Count": "1"}},
		"response":       {"POST", "/v1/responses", map[string]any{"model": "ana", "input": "hi"}, nil},
		"goes on":        {"POST", "/v1/responses", map[string]any{"model": "ana", "input": "hi", "previous_response_id": response}, nil},
		"response again": {"GET", "/v1/responses/" + response, nil, nil},
		"with an image": {"POST", "/v1/responses", map[string]any{"model": "ana", "input": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
		}}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, h, tt.method, tt.path, tt.body, tt.headers)
			if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || got.get(t, "error", "message") == nil {
				t.Errorf("got %d, Retry-After %q: %s", got.Status, got.Header.Get("Retry-After"), got.Body)
			}
		})
	}
}
