package gemini

import (
	"cmp"
	"encoding/json"
	"slices"

	"agenthost/llm"
)

// A content is one message, of the user, who also gives the results of calls,
// or of the model.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// A part has one thing in it, and perhaps the signature of what was thought
// before.
type part struct {
	Text      *string   `json:"text,omitempty"`
	Thought   bool      `json:"thought,omitempty"`
	Inline    *blob     `json:"inlineData,omitempty"`
	File      *file     `json:"fileData,omitempty"`
	Call      *call     `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
}

type call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type response struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Answer result `json:"response"`
}

// A result is an object because the API takes nothing else.
type result struct {
	Result *string `json:"result,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// unsigned is what the API takes for the signature of a call that another
// provider's model made: models that sign refuse one without.
const unsigned = "skip_thought_signature_validator"

// A conversation turns messages into contents, in order.
type conversation struct {
	names    *llm.ToolNames
	signs    bool            // the model insists on signatures
	sent     map[string]call // by the id we know it by
	contents []content
}

func contents(req llm.Request, names *llm.ToolNames) []content {
	c := conversation{
		names:    names,
		signs:    signs(req.Model),
		sent:     map[string]call{},
		contents: make([]content, 0, len(req.Messages)),
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.Assistant:
			c.add("model", c.answered(m))
		case llm.Tool:
			c.addResults(c.results(m))
		default:
			c.add("user", said(m.Named()))
		}
	}
	return c.contents
}

// add leaves out a message with nothing the API takes: it refuses an empty one.
func (c *conversation) add(role string, parts []part) {
	if len(parts) > 0 {
		c.contents = append(c.contents, content{Role: role, Parts: parts})
	}
}

// addResults puts results that follow each other in one content: the API wants
// as many in it as the content before it had calls.
func (c *conversation) addResults(parts []part) {
	if last := len(c.contents) - 1; last >= 0 && c.contents[last].Parts[0].Response != nil {
		c.contents[last].Parts = append(c.contents[last].Parts, parts...)
		return
	}
	c.add("user", parts)
}

func said(m llm.Message) []part {
	var parts []part
	for _, p := range m.Parts {
		switch {
		case p.Media != nil:
			w, ok := shown(p.Media)
			if !ok {
				w = part{Text: new(mention(p.Media))}
			}
			parts = append(parts, w)
		case p.Type == llm.Text && p.Text != "":
			parts = append(parts, part{Text: &p.Text})
		}
	}
	return parts
}

func (c *conversation) answered(m llm.Message) []part {
	var parts []part
	for _, p := range m.Parts {
		switch p.Type {
		case llm.Text:
			if p.Text != "" {
				parts = append(parts, part{Text: &p.Text})
			}
		case llm.Reasoning:
			parts = sign(parts, metaOf(p))
		case llm.ToolCall:
			parts = append(parts, c.called(p))
		case llm.MediaPart:
			if w, ok := shown(p.Media); ok {
				parts = append(parts, w)
			}
		}
	}
	if first := slices.IndexFunc(parts, func(p part) bool { return p.Call != nil }); c.signs && first >= 0 {
		parts[first].Signature = cmp.Or(parts[first].Signature, unsigned)
	}
	return parts
}

func (c *conversation) called(p llm.Part) part {
	m := metaOf(p)
	w := call{ID: m.ID, Name: c.names.ToWire(p.Name), Args: p.Args}
	if len(p.Args) == 0 || p.Args[0] != '{' {
		w.Args = json.RawMessage("{}") // what is no object the API would refuse
	}
	c.sent[p.Call] = w
	return part{Call: &w, Signature: m.Signature}
}

func (c *conversation) results(m llm.Message) []part {
	var parts []part
	for _, p := range m.Parts {
		if p.Type != llm.ToolResult {
			continue
		}
		to := c.sent[p.Call]
		r := response{ID: to.ID, Name: to.Name, Answer: result{Result: &p.Text}}
		if p.Error {
			r.Answer = result{Error: &p.Text}
		}
		if r.Name == "" {
			r.Name = c.names.ToWire(p.Name)
		}
		parts = append(parts, part{Response: &r})
	}
	return parts
}
