package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"agenthost/fastjson"
	"agenthost/llm"
)

// sound is msg with each call under an id of its own and with arguments that
// can be written down.
func (m *machine) sound(msg llm.Message) llm.Message {
	parts := slices.Clone(msg.Parts)
	earlier := earlierCalls{messages: m.s.Messages}
	for i := range parts {
		p := &parts[i]
		if p.Type != llm.ToolCall {
			continue
		}
		taken := func(id string) bool { return id == "" || hasCall(parts[:i], id) || earlier.have(id) }
		for id, n := p.Call, 1; taken(p.Call); n++ {
			p.Call = cmp.Or(id, "call") + "_" + strconv.Itoa(n)
		}
		switch {
		case p.Error: // as llm.Builder leaves it: what was said is in Text
			p.Args = nil
		case len(p.Args) == 0:
			p.Args = json.RawMessage("{}")
		case !json.Valid(p.Args) || fastjson.TooDeep(p.Args):
			p.Text, p.Args, p.Error = string(p.Args), nil, true
		}
	}
	msg.Parts = parts
	return msg
}

// earlierCalls are the calls of the answers before: some servers count from
// zero in each.
type earlierCalls struct {
	messages []llm.Message
	ids      map[string]bool // of all, once one was taken: of the next numbers, most are too
}

func (c *earlierCalls) have(id string) bool {
	if c.ids != nil {
		return c.ids[id]
	}
	for i := range c.messages {
		if hasCall(c.messages[i].Parts, id) {
			c.collect()
			return true
		}
	}
	return false
}

func (c *earlierCalls) collect() {
	c.ids = map[string]bool{}
	for i := range c.messages {
		for k := range c.messages[i].Parts {
			if p := &c.messages[i].Parts[k]; p.Type == llm.ToolCall {
				c.ids[p.Call] = true
			}
		}
	}
}

// hasCall looks at long conversations: it copies no part.
func hasCall(parts []llm.Part, id string) bool {
	for i := range parts {
		if p := &parts[i]; p.Call == id && p.Type == llm.ToolCall {
			return true
		}
	}
	return false
}
