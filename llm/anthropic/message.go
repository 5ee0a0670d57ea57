package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

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

// A conversation writes messages as the API has them: the roles alternate, and
// the results of tools are the first that a user says. It is all that was said,
// in every turn, and most of that are texts: these are written without
// encoding/json.
type conversation struct {
	names *httpapi.ToolNames
	json  []byte // each message and block with a comma behind it
	role  string // of the last message, which may go on

	results int       // where in json the next result goes, if the last message is a user's
	begins  [2]string // the types of the first blocks of the last two messages
	ends    [2]int    // where in json the last two messages of a user end, but for the }]}
}

func (c *conversation) write(messages []llm.Message) error {
	c.json = append(c.json, '[')
	for i := range messages {
		if err := c.add(&messages[i]); err != nil {
			return err
		}
	}
	if c.role == "" { // the API says that it takes no such request
		c.json = append(c.json[:0], "null"...)
		return nil
	}
	c.end()
	c.json[len(c.json)-1] = ']'
	c.mark()
	return nil
}

func (c *conversation) add(m *llm.Message) error {
	switch m.Role {
	case llm.Assistant:
		return c.addAnswer(m.Parts)
	case llm.Tool:
		return c.addResults(m.Parts)
	}
	return c.addSaid(m.Named().Parts)
}

// begin has what comes next said by role.
func (c *conversation) begin(role, kind string) {
	if role == c.role {
		return
	}
	c.end()
	c.json = append(append(append(c.json, `{"role":"`...), role...), `","content":[`...)
	c.role, c.results = role, len(c.json)
	c.begins = [2]string{c.begins[1], kind}
}

func (c *conversation) end() {
	if c.role == "" {
		return
	}
	if c.role == "user" {
		c.ends = [2]int{c.ends[1], len(c.json) - len("},")}
	}
	c.json = append(c.json[:len(c.json)-1], "]},"...)
}

// addText leaves out what is blank: the API refuses it.
func (c *conversation) addText(role, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	c.begin(role, "text")
	c.json = append(fastjson.AppendText(append(c.json, `{"type":"text","text":`...), text), "},"...)
}

func (c *conversation) addBlock(role string, b block) error {
	data, err := fastjson.Marshal(b)
	if err != nil {
		return err
	}
	c.begin(role, b.Type)
	c.json = append(append(c.json, data...), ',')
	return nil
}

// mark has the provider keep the conversation for the next call. It looks for
// what it has kept only some twenty blocks back, so the message that the last
// call ended with is marked too.
func (c *conversation) mark() {
	for _, end := range slices.Backward(c.ends[:]) {
		if end > 0 {
			c.json = slices.Insert(c.json, end, []byte(mark)...)
		}
	}
}

// mayThink is false amid the tool calls of an answer that did not begin with
// thinking: another provider's, whose thoughts are not sent here, say. With a
// budget the API then refuses the whole conversation.
func (c *conversation) mayThink() bool {
	switch c.begins[0] {
	case "", "thinking", "redacted_thinking":
		return true
	}
	return c.begins[1] != "tool_result"
}

func (c *conversation) addAnswer(parts []llm.Part) error {
	// The API takes no answer that ends with thinking, as one that was cut does.
	for len(parts) > 0 && !isSaid(&parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	for i := range parts {
		var err error
		switch p := &parts[i]; p.Type {
		case llm.Reasoning:
			if b, ok := thought(p); ok {
				err = c.addBlock("assistant", b)
			}
		case llm.Text:
			c.addText("assistant", p.Text)
		case llm.ToolCall:
			err = c.addBlock("assistant", block{Type: "tool_use", ID: wireID(p.Call), Name: c.names.ToWire(p.Name), Input: input(p.Args)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isSaid reports whether p is something other than a thought, and not blank.
func isSaid(p *llm.Part) bool {
	return p.Type == llm.ToolCall || p.Type == llm.Text && strings.TrimSpace(p.Text) != ""
}

// A seal is the Meta of a reasoning part: what proves that the model's own
// thoughts come back to it.
type seal struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // the reasoning itself, encrypted for the provider
}

// thought is the reasoning of p as it came; false for one without a seal, which
// the API would refuse.
func thought(p *llm.Part) (block, bool) {
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
	w := httpapi.WireName("_" + id)[1:] // it may begin with what a name may not
	if w == id {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("%s_%08x", w, h.Sum32())
}

// addResults puts results in front of what else the user says.
func (c *conversation) addResults(parts []llm.Part) error {
	for i := range parts {
		p := &parts[i]
		if p.Type != llm.ToolResult {
			continue
		}
		b := block{Type: "tool_result", Call: wireID(p.Call), Content: p.Text, Failed: p.Error}
		if b.Failed && strings.TrimSpace(b.Content) == "" {
			b.Content = "failed" // an error has to say something
		}
		data, err := fastjson.Marshal(b)
		if err != nil {
			return err
		}
		c.begin("user", b.Type)
		c.begins[1] = b.Type
		c.json = slices.Insert(c.json, c.results, append(data, ',')...)
		c.results += len(data) + len(",")
	}
	return nil
}

// addSaid says of a message with nothing in it that there is nothing, as the
// one before and the one after may need it between them.
func (c *conversation) addSaid(parts []llm.Part) error {
	before := len(c.json)
	for i := range parts {
		switch p := &parts[i]; {
		case p.Media != nil:
			if err := c.addBlock("user", mediaBlock(p.Media)); err != nil {
				return err
			}
		case p.Type == llm.Text:
			c.addText("user", p.Text)
		}
	}
	if len(c.json) == before {
		c.addText("user", "(nothing)")
	}
	return nil
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
