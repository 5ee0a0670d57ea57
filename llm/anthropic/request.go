package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// A wireRequest is a request but for its messages, which come last: what stays
// the same from call to call comes first.
type wireRequest struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Temperature *float64      `json:"temperature,omitempty"`
	Thinking    *thinking     `json:"thinking,omitempty"`
	Output      *outputConfig `json:"output_config,omitempty"`
	Stream      bool          `json:"stream"`
	Tools       []wireTool    `json:"tools,omitempty"`
	System      []block       `json:"system,omitempty"`
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

// A cache marks the end of what the provider keeps for the next call.
type cache struct {
	Type string `json:"type"`
}

var ephemeral = &cache{"ephemeral"}

// mark is an ephemeral cache behind the other fields of a block.
const mark = `,"cache_control":{"type":"ephemeral"}`

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// body is the same bytes for the same req, and but for the marks of the cache
// begins with the same for a longer conversation, so that caches of prompts hit.
func (p *Provider) body(req llm.Request, names *httpapi.ToolNames) ([]byte, error) {
	r := wireRequest{Model: cmp.Or(req.Model, p.cfg.Model), Stream: true}
	if r.Model == "" {
		return nil, errors.New("request names no model")
	}
	c := conversation{names: names, json: make([]byte, 0, req.BodySize())}
	if err := c.write(req.Messages); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if system := withSchema(req.System, req.Schema); strings.TrimSpace(system) != "" {
		r.System = []block{{Type: "text", Text: system}}
	}
	for _, t := range req.Tools {
		w := wireTool{Name: names.ToWire(t.Name), Description: t.Description, Schema: t.Schema}
		if len(w.Schema) == 0 {
			w.Schema = noParameters
		}
		r.Tools = append(r.Tools, w)
	}
	r.think(p.cfg, c.mayThink())
	r.mark()
	start, err := fastjson.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	start = append(start[:len(start)-1], `,"messages":`...)
	// Only who has seen the messages knows what goes in front, and to move them
	// costs next to nothing.
	return append(slices.Insert(c.json, 0, start...), '}'), nil
}

// withSchema asks for the form of the answer in words: what the API has for it
// refuses most schemas that people write, and the answer is checked anyway.
func withSchema(system string, schema json.RawMessage) string {
	if len(schema) == 0 {
		return system
	}
	if system != "" {
		system += "\n\n"
	}
	return system + "When you give your answer, give nothing but JSON, without a fence around it, that keeps to this JSON Schema: " + string(schema)
}

// mark has the provider keep what the next call repeats: the tools and the
// system prompt; [conversation.mark] does so for what was said.
func (r *wireRequest) mark() {
	switch {
	case len(r.System) > 0:
		r.System[len(r.System)-1].Cache = ephemeral // has the tools in front of it
	case len(r.Tools) > 0:
		r.Tools[len(r.Tools)-1].Cache = ephemeral
	}
}
