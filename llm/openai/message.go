package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

type wireMessage struct {
	Role    string         `json:"role"`
	Content any            `json:"content"` // a string, a list of parts, or null beside tool calls
	Calls   []sentToolCall `json:"tool_calls,omitempty"`
	Call    string         `json:"tool_call_id,omitempty"`

	ReasoningContent string   `json:"reasoning_content,omitempty"`
	Reasoning        string   `json:"reasoning,omitempty"`
	Details          []detail `json:"reasoning_details,omitempty"`
}

type wirePart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type sentToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`

	Extra json.RawMessage `json:"extra_content,omitempty"`
}

type sentFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// appendMessages appends the messages of req, without the brackets around them.
func (p *Provider) appendMessages(b []byte, req *llm.Request, names *httpapi.ToolNames) (_ []byte, err error) {
	start := len(b)
	if req.System != "" {
		b = appendSaid(b, "system", req.System)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if role, text, ok := onlyText(m); ok {
			b = appendSaid(b, role, text)
			continue
		}
		for _, w := range appendMessage(nil, *m, names, p.host) {
			data, err := fastjson.Marshal(w)
			if err != nil {
				return nil, err
			}
			b = append(append(b, data...), ',')
		}
	}
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return b, nil
}

// appendSaid appends a message that is a text, and a comma.
func appendSaid(b []byte, role, text string) []byte {
	b = append(append(append(b, `{"role":"`...), role...), `","content":`...)
	return append(fastjson.AppendText(b, text), "},"...)
}

// onlyText reports whether m is text and nothing else.
func onlyText(m *llm.Message) (role, text string, ok bool) {
	if len(m.Parts) != 1 || m.Name != "" {
		return "", "", false
	}
	p := &m.Parts[0]
	if p.Type != llm.Text || p.Text == "" {
		return "", "", false
	}
	switch m.Role {
	case llm.User:
		return "user", p.Text, true
	case llm.Assistant:
		return "assistant", p.Text, true
	}
	return "", "", false
}

// appendMessage appends m as the API of the server at host has it: one message
// per tool result, and none for one with nothing the API takes.
func appendMessage(to []wireMessage, m llm.Message, names *httpapi.ToolNames, host string) []wireMessage {
	switch m.Role {
	case llm.Tool:
		for _, p := range m.Parts {
			if p.Type == llm.ToolResult {
				to = append(to, wireMessage{Role: "tool", Content: p.Text, Call: p.Call})
			}
		}
		return to
	case llm.Assistant:
		w := wireMessage{Role: "assistant", Calls: sentCalls(m, names, host)}
		if text := cmp.Or(m.Text(), mentions(m)); text != "" {
			w.Content = text
		}
		if w.Calls != nil {
			giveBack(&w, m, host)
		}
		if w.Content == nil && w.Calls == nil {
			return to
		}
		return append(to, w)
	}
	return append(to, wireMessage{Role: "user", Content: userContent(m.Named())})
}

func sentCalls(m llm.Message, names *httpapi.ToolNames, host string) []sentToolCall {
	var calls []sentToolCall
	for _, p := range m.Calls() {
		// Arguments that were no JSON are not repeated: many servers parse
		// what they are sent, and would refuse the whole conversation.
		f := sentFunction{Name: names.ToWire(p.Name), Arguments: cmp.Or(string(p.Args), "{}")}
		calls = append(calls, sentToolCall{ID: p.Call, Type: "function", Function: f, Extra: extraFor(p.Meta, host)})
	}
	return calls
}

// userContent is a plain string where it can be, the only form that every
// server knows.
func userContent(m llm.Message) any {
	if !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Media != nil }) {
		return m.Text()
	}
	var parts []wirePart
	for _, p := range m.Parts {
		switch {
		case p.Media != nil:
			parts = append(parts, attached(p.Media))
		case p.Type == llm.Text && p.Text != "":
			parts = append(parts, wirePart{Type: "text", Text: p.Text})
		}
	}
	return parts
}

func attached(m *llm.Media) wirePart {
	if url := shown(m); url != "" {
		return wirePart{Type: "image_url", Image: &imageURL{url}}
	}
	return wirePart{Type: "text", Text: mention(m)}
}

// mentions tell of what the model itself made, which cannot be sent back.
func mentions(m llm.Message) string {
	var all []string
	for _, p := range m.Parts {
		if p.Media != nil {
			all = append(all, mention(p.Media))
		}
	}
	return strings.Join(all, " ")
}
