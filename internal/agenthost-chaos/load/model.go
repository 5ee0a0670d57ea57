package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A Model is a server of chat completions. What it does follows from the last
// word of what it is told last: it says that again, or calls a tool first. It
// outlives the hosts that call it.
type Model struct {
	URL  string
	Mode atomic.Int32 // a ModelMode

	Asked atomic.Int64 // calls that came
	Paid  atomic.Int64 // calls that were answered whole

	server   *http.Server
	listener net.Listener
}

// How a Model answers.
const (
	ModelWell int32 = iota
	ModelFails
	ModelHangs
)

// ListenModel makes a model on a free port. Run serves it.
func ListenModel() (*Model, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for model calls: %w", err)
	}
	m := &Model{URL: "http://" + l.Addr().String() + "/v1", listener: l}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	return m, nil
}

// Run serves calls until ctx ends.
func (m *Model) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = m.server.Close() })
	defer stop()
	if err := m.server.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// SlowThinking is how long a model takes that is asked for a slow answer.
const SlowThinking = 2 * time.Second

// A modelRequest is what a call says, as far as the answer depends on it.
type modelRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// ServeHTTP answers one call.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.Asked.Add(1)
	switch m.Mode.Load() {
	case ModelFails:
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	case ModelHangs:
		<-r.Context().Done()
		return
	}
	var call modelRequest
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, afterTool := call.last()
	thinking := time.Duration(30+len(text)%50) * time.Millisecond
	if verbOf(text) == VerbSlow && !afterTool {
		thinking = SlowThinking
	}
	select {
	case <-time.After(thinking):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if calls := call.toolCalls(text); !afterTool && len(calls) > 0 {
		m.write(w, map[string]any{"tool_calls": calls}, "tool_calls")
		return
	}
	m.write(w, map[string]any{"content": text}, "stop")
}

func (m *Model) write(w http.ResponseWriter, delta map[string]any, reason string) {
	data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = fmt.Fprintf(w, "data: %s\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", data, reason)
	if err == nil && http.NewResponseController(w).Flush() == nil {
		m.Paid.Add(1)
	}
}

// last is what was said last, and whether a tool has been called since.
func (c *modelRequest) last() (text string, afterTool bool) {
	for _, msg := range c.Messages {
		switch msg.Role {
		case "user":
			text, afterTool = textOf(msg.Content), false
		case "tool":
			afterTool = true
		}
	}
	return text, afterTool
}

func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "")
}

// toolCalls are those that the verb of a text asks for, of the tools there are.
func (c *modelRequest) toolCalls(text string) []any {
	wanted := map[string][]string{
		VerbPay: {"pay"}, VerbLook: {"look"}, VerbBoth: {"pay", "look"}, VerbNote: {"put"}, VerbHelp: {"delegate"},
	}[verbOf(text)]
	var calls []any
	for _, want := range wanted {
		for _, tool := range c.Tools {
			if name := tool.Function.Name; strings.HasSuffix(name, want) {
				args := map[string]string{"what": text}
				if want == "delegate" {
					args = map[string]string{"to": "bob", "task": "task " + strings.TrimSuffix(text, " "+VerbHelp), "timeout": "1m"}
				}
				data, err := json.Marshal(args)
				if err != nil {
					continue // strings always marshal
				}
				calls = append(calls, map[string]any{
					"index": len(calls), "id": fmt.Sprintf("c%d", len(calls)), "type": "function",
					"function": map[string]string{"name": name, "arguments": string(data)},
				})
			}
		}
	}
	return calls
}

// The verbs: the last word of a text.
const (
	VerbPay  = "pay"  // a tool that must not run twice
	VerbLook = "look" // one that may
	VerbBoth = "both"
	VerbNote = "note" // a tool of an MCP server
	VerbHelp = "help" // another agent
	VerbSlow = "slow" // the model takes its time
)

func verbOf(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }
