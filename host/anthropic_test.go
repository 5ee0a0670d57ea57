package host_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/llm"
)

// TestThoughtsGoBack has a model think, call a tool and answer by a schema,
// which takes two calls: the second has the thoughts of the first, as they came.
func TestThoughtsGoBack(t *testing.T) {
	t.Parallel()
	const (
		thinks = `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"sealed+/="}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"list_files","input":{}}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}

data: {"type":"message_stop"}

`
		answers = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"{\"n\":0}"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

data: {"type":"message_stop"}

`
	)
	for name, schema := range map[string]map[string]any{
		"any text":  nil,
		"by schema": {"type": "object", "required": []any{"n"}},
	} {
		t.Run(name, func(t *testing.T) {
			bodies := make(chan string, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- string(body)
				if strings.Contains(string(body), "tool_result") {
					_, _ = io.WriteString(w, answers)
					return
				}
				_, _ = io.WriteString(w, thinks)
			}))
			defer server.Close()
			cfg := demo(t)
			cfg.Models["echo"] = llm.Config{Provider: "anthropic", Model: "claude-haiku-4-5", BaseURL: server.URL, APIKey: "k", Effort: llm.EffortLow}
			cfg.Agents[0].Tools = []string{"*"}
			cfg.Agents[0].OutputSchema = schema
			h, _ := start(t, cfg)
			nc := h.Bus().NC
			sub, err := nc.SubscribeSync("plugin.outbound.demo")
			if err != nil {
				t.Fatal(err)
			}
			publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "count"})
			if out := next(t, sub); out.Text != `{"n":0}` || !out.Final {
				t.Errorf("got %+v", out)
			}
			<-bodies
			want := `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"sealed+/="},{"type":"tool_use","id":"toolu_1"`
			if second := <-bodies; !strings.Contains(second, want) || !strings.Contains(second, `"thinking":{"type":"enabled"`) {
				t.Errorf("got %s, want %s in it", second, want)
			}
		})
	}
}
