package llm

import (
	"encoding/json"
	"strings"
)

// A Role says who speaks in a message. There is no system role: what the
// operator wrote travels in Request.System, and nothing else ever does.
type Role string

// The roles a message can have.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// A PartType names what a Part holds.
type PartType string

// The kinds of parts.
const (
	Text       PartType = "text"
	Reasoning  PartType = "reasoning"
	ToolCall   PartType = "tool_call"
	ToolResult PartType = "tool_result"
	MediaPart  PartType = "media"
)

// A Part is one piece of a message; Type says which fields count.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitempty"` // text, reasoning, what a tool answered, or a call's arguments that are no JSON

	Call  string          `json:"call,omitempty"` // tool_call, tool_result: the id that pairs them
	Name  string          `json:"name,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	Error bool            `json:"error,omitempty"` // tool_result: the tool failed; tool_call: the arguments are no JSON

	Media *Media `json:"media,omitempty"`

	// Provider and Meta carry what a provider wants back verbatim with its
	// own reasoning or call (a signature, say). Only that provider is sent them.
	Provider string          `json:"provider,omitempty"`
	Meta     json.RawMessage `json:"meta,omitempty"`
}

// Media is an attachment, by URL or by the name of an object on the bus.
type Media struct {
	Kind   string `json:"kind,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Name   string `json:"name,omitempty"`
	Size   int64  `json:"size,omitempty"`
	URL    string `json:"url,omitempty"`
	Object string `json:"object,omitempty"`

	// Data is the content itself, while it is on its way to or from a provider.
	// It is never written to a log.
	Data []byte `json:"-"`
}

// A Message is what one side said in one go.
type Message struct {
	Role    Role   `json:"role"`
	Name    string `json:"name,omitempty"` // who speaks, where several people do
	Parts   []Part `json:"parts"`
	Partial bool   `json:"partial,omitempty"` // the stream broke before its end
}

// UserText is a user message of one text.
func UserText(text string) Message {
	return Message{Role: User, Parts: []Part{{Type: Text, Text: text}}}
}

// Text joins the text parts of m.
func (m Message) Text() string {
	if len(m.Parts) == 1 && m.Parts[0].Type == Text {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == Text {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Media are the attachments of m.
func (m Message) Media() []*Media {
	var list []*Media
	for _, p := range m.Parts {
		if p.Type == MediaPart && p.Media != nil {
			list = append(list, p.Media)
		}
	}
	return list
}

// Empty reports whether m says nothing: neither a text nor an attachment.
func (m Message) Empty() bool {
	return strings.TrimSpace(m.Text()) == "" && len(m.Media()) == 0
}

// IsImage reports whether m is something that a model may be shown.
func (m *Media) IsImage() bool {
	return m.Kind == "image" || strings.HasPrefix(m.MIME, "image/")
}

// Linked reports whether m is at an address that a provider may be given: on the
// web, or in Google's storage, which Gemini reads.
func (m *Media) Linked() bool {
	scheme, _, _ := strings.Cut(m.URL, ":")
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "gs")
}

// Calls are the tool calls m asks for, in the model's order.
func (m Message) Calls() []Part {
	var calls []Part
	for _, p := range m.Parts {
		if p.Type == ToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// Named is m with its speaker's name in front of what is said, for providers
// that have no place of their own for it.
func (m Message) Named() Message {
	if m.Name == "" {
		return m
	}
	parts := []Part{{Type: Text, Text: m.Name + ": "}}
	if len(m.Parts) > 0 && m.Parts[0].Type == Text {
		parts[0].Text += m.Parts[0].Text
		m.Parts = m.Parts[1:]
	}
	m.Parts = append(parts, m.Parts...)
	return m
}
