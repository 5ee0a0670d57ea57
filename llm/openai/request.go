package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/llm"
)

type wireRequest struct {
	Model         string        `json:"model"`
	Messages      []wireMessage `json:"messages"`
	Tools         []wireTool    `json:"tools,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	Format        *format       `json:"response_format,omitempty"`
	settings
}

// format asks for an answer by a schema. It is not strict: that refuses most
// schemas that people write, and the answer is checked anyway.
type format struct {
	Type   string     `json:"type"`
	Schema formatBody `json:"json_schema"`
}

type formatBody struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// body is the same bytes for the same req, so that caches of prompts hit.
func (p *Provider) body(req llm.Request, names *llm.ToolNames) ([]byte, error) {
	r := wireRequest{Model: cmp.Or(req.Model, p.model), Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if r.Model == "" {
		return nil, errors.New("request names no model")
	}
	r.settings = p.settings.forModel(r.Model)
	if req.System != "" {
		r.Messages = append(r.Messages, wireMessage{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		r.Messages = appendMessage(r.Messages, m, names, p.host)
	}
	for _, t := range req.Tools {
		f := wireFunction{Name: names.ToWire(t.Name), Description: t.Description, Parameters: t.Schema}
		if len(f.Parameters) == 0 {
			f.Parameters = noParameters
		}
		r.Tools = append(r.Tools, wireTool{Type: "function", Function: f})
	}
	if len(req.Schema) > 0 {
		r.Format = &format{Type: "json_schema", Schema: formatBody{Name: "answer", Schema: req.Schema}}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return b.Bytes(), nil
}
