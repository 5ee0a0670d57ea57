package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

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
	ID   httpapi.Loose   `json:"id,omitempty"`
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

// A conversation writes messages as contents, in order. A content is one
// message, of the user, who also gives the results of calls, or of the model. It
// is all that was said, in every turn, and most of that are texts: these are
// written without encoding/json.
type conversation struct {
	names *httpapi.ToolNames
	signs bool            // the model insists on signatures
	sent  map[string]call // by the id we know it by
	json  []byte          // each content with a comma behind it
	// results is whether the last content begins with a result.
	results bool
	parts   []part // room for those of one message
}

func (c *conversation) write(messages []llm.Message) error {
	c.json = append(c.json, '[')
	for i := range messages {
		if err := c.add(&messages[i]); err != nil {
			return err
		}
	}
	c.json = append(bytes.TrimSuffix(c.json, []byte(",")), ']')
	return nil
}

// add leaves out a message with nothing the API takes: it refuses an empty one.
func (c *conversation) add(m *llm.Message) error {
	role := "user"
	c.parts = c.parts[:0]
	switch m.Role {
	case llm.Assistant:
		role = "model"
		c.answered(m.Parts)
	case llm.Tool:
		c.responded(m.Parts)
	default:
		c.said(m.Named().Parts)
	}
	if len(c.parts) == 0 {
		return nil
	}
	// Results that follow each other are in one content: the API wants as many
	// in it as the content before it had calls.
	results := c.parts[0].Response != nil
	if results && c.results {
		c.json = append(c.json[:len(c.json)-len("]},")], ',')
	} else {
		c.json = append(append(append(c.json, `{"role":"`...), role...), `","parts":[`...)
	}
	c.results = results
	for i := range c.parts {
		var err error
		if c.json, err = appendPart(c.json, &c.parts[i]); err != nil {
			return err
		}
		c.json = append(c.json, ',')
	}
	c.json = append(c.json[:len(c.json)-1], "]},"...)
	return nil
}

func appendPart(b []byte, p *part) ([]byte, error) {
	if p.isText() {
		return appendText(b, *p.Text), nil
	}
	data, err := fastjson.Marshal(p)
	return append(b, data...), err
}

// isText reports whether p is a text and nothing else.
func (p *part) isText() bool { return p.Text != nil && *p == part{Text: p.Text} }

// appendText appends a part with a text.
func appendText(b []byte, text string) []byte {
	return append(fastjson.AppendText(append(b, `{"text":`...), text), '}')
}

func (c *conversation) said(parts []llm.Part) {
	for i := range parts {
		switch p := &parts[i]; {
		case p.Media != nil:
			w, ok := shown(p.Media)
			if !ok {
				w = part{Text: new(mention(p.Media))}
			}
			c.parts = append(c.parts, w)
		case p.Type == llm.Text && p.Text != "":
			c.parts = append(c.parts, part{Text: &p.Text})
		}
	}
}

func (c *conversation) answered(parts []llm.Part) {
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case llm.Text:
			if p.Text != "" {
				c.parts = append(c.parts, part{Text: &p.Text})
			}
		case llm.Reasoning:
			c.parts = sign(c.parts, metaOf(p))
		case llm.ToolCall:
			c.parts = append(c.parts, c.called(p))
		case llm.MediaPart:
			if p.Media == nil {
				continue
			}
			if w, ok := shown(p.Media); ok {
				c.parts = append(c.parts, w)
			}
		}
	}
	if first := slices.IndexFunc(c.parts, func(p part) bool { return p.Call != nil }); c.signs && first >= 0 {
		c.parts[first].Signature = cmp.Or(c.parts[first].Signature, unsigned)
	}
}

func (c *conversation) called(p *llm.Part) part {
	m := metaOf(p)
	w := call{ID: httpapi.Loose(m.ID), Name: c.names.ToWire(p.Name), Args: p.Args}
	if len(p.Args) == 0 || p.Args[0] != '{' {
		w.Args = json.RawMessage("{}") // what is no object the API would refuse
	}
	c.sent[p.Call] = w
	return part{Call: &w, Signature: m.Signature}
}

func (c *conversation) responded(parts []llm.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Type != llm.ToolResult {
			continue
		}
		to := c.sent[p.Call]
		r := response{ID: string(to.ID), Name: to.Name, Answer: result{Result: &p.Text}}
		if p.Error {
			r.Answer = result{Error: &p.Text}
		}
		if r.Name == "" {
			r.Name = c.names.ToWire(p.Name)
		}
		c.parts = append(c.parts, part{Response: &r})
	}
}
