package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"agenthost/llm"
)

type wireMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"` // never empty
}

// A block has the fields of its Type.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	Thinking  *string `json:"thinking,omitempty"` // may be empty
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"` // redacted_thinking

	ID    string          `json:"id,omitempty"` // tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	Call    string `json:"tool_use_id,omitempty"` // tool_result
	Content string `json:"content,omitempty"`
	Failed  bool   `json:"is_error,omitempty"`

	Source *source `json:"source,omitempty"` // image

	Cache *cache `json:"cache_control,omitempty"`
}

type source struct {
	Type string `json:"type"`
	MIME string `json:"media_type,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// wireMessages are the messages as the API has them: the roles alternate, and
// the results of tools are the first that a user says.
func wireMessages(messages []llm.Message, names *llm.ToolNames) []wireMessage {
	var ws []wireMessage
	for _, m := range messages {
		role, content := contentOf(m, names)
		if len(content) == 0 {
			continue
		}
		if n := len(ws); n > 0 && ws[n-1].Role == role {
			ws[n-1].Content = append(ws[n-1].Content, content...)
			continue
		}
		ws = append(ws, wireMessage{Role: role, Content: content})
	}
	for _, w := range ws {
		if w.Role == "user" {
			slices.SortStableFunc(w.Content, func(x, y block) int { return cmp.Compare(rank(x), rank(y)) })
		}
	}
	return ws
}

func contentOf(m llm.Message, names *llm.ToolNames) (role string, content []block) {
	switch m.Role {
	case llm.Assistant:
		return "assistant", assistantBlocks(m, names)
	case llm.Tool:
		return "user", resultBlocks(m)
	}
	return "user", userBlocks(m.Named())
}

// rank puts results first.
func rank(b block) int {
	if b.Type == "tool_result" {
		return 0
	}
	return 1
}

func assistantBlocks(m llm.Message, names *llm.ToolNames) []block {
	var bs []block
	for _, p := range m.Parts {
		switch p.Type {
		case llm.Reasoning:
			if b, ok := thought(p); ok {
				bs = append(bs, b)
			}
		case llm.Text:
			bs = appendText(bs, p.Text)
		case llm.ToolCall:
			bs = append(bs, block{Type: "tool_use", ID: wireID(p.Call), Name: names.ToWire(p.Name), Input: input(p.Args)})
		}
	}
	// The API takes no answer that ends with thinking, as one that was cut does.
	for len(bs) > 0 && isThought(bs[len(bs)-1]) {
		bs = bs[:len(bs)-1]
	}
	return bs
}

// A seal is the Meta of a reasoning part: what proves that the model's own
// thoughts come back to it.
type seal struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // the thoughts themselves, for nobody else to read
}

// thought is the reasoning of p as it came; false for one without a seal, which
// the API would refuse.
func thought(p llm.Part) (block, bool) {
	var s seal
	_ = json.Unmarshal(p.Meta, &s) // there may be none
	switch {
	case s.Redacted != "":
		return block{Type: "redacted_thinking", Data: s.Redacted}, true
	case s.Signature != "":
		return block{Type: "thinking", Thinking: &p.Text, Signature: s.Signature}, true
	}
	return block{}, false
}

func isThought(b block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// input is an object, which is all that the API takes; other arguments the tool
// did not take either.
func input(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || args[0] != '{' {
		return json.RawMessage("{}")
	}
	return args
}

// wireID is the id of a call, which may be another provider's, in the letters
// that the API allows.
func wireID(id string) string {
	w := llm.WireName("_" + id)[1:] // it may begin with what a name may not
	if w == id {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("%s_%08x", w, h.Sum32())
}

func resultBlocks(m llm.Message) []block {
	var bs []block
	for _, p := range m.Parts {
		if p.Type != llm.ToolResult {
			continue
		}
		b := block{Type: "tool_result", Call: wireID(p.Call), Content: p.Text, Failed: p.Error}
		if b.Failed && strings.TrimSpace(b.Content) == "" {
			b.Content = "failed" // an error has to say something
		}
		bs = append(bs, b)
	}
	return bs
}

// userBlocks says of a message with nothing in it that there is nothing, as
// the one before and the one after may need it between them.
func userBlocks(m llm.Message) []block {
	var bs []block
	for _, p := range m.Parts {
		switch {
		case p.Media != nil:
			bs = append(bs, mediaBlock(p.Media))
		case p.Type == llm.Text:
			bs = appendText(bs, p.Text)
		}
	}
	if len(bs) == 0 {
		return []block{{Type: "text", Text: "(nothing)"}}
	}
	return bs
}

// appendText leaves out what is blank: the API refuses it.
func appendText(bs []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return bs
	}
	return append(bs, block{Type: "text", Text: text})
}

func mediaBlock(m *llm.Media) block {
	kind := m.MIME
	if len(m.Data) > 0 && !strings.HasPrefix(kind, "image/") {
		kind = http.DetectContentType(m.Data)
	}
	switch {
	case len(m.Data) > 0 && takes(kind):
		return block{Type: "image", Source: &source{Type: "base64", MIME: kind, Data: m.Data}}
	case m.URL != "" && (takes(m.MIME) || m.MIME == "" && m.Kind == "image"):
		return block{Type: "image", Source: &source{Type: "url", URL: m.URL}}
	}
	// The model is at least told of what it cannot be shown.
	return block{Type: "text", Text: fmt.Sprintf("[attached %s %q]", cmp.Or(m.Kind, m.MIME, "file"), m.Name)}
}

func takes(mime string) bool {
	switch mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}
