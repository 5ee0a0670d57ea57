package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// wireRest is what follows the model and the messages in a request.
type wireRest struct {
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

// body is the same bytes for the same req, so that caches of prompts hit. The
// messages are all of a conversation in each of its turns, and most are nothing
// but text: these are written without encoding/json.
func (p *Provider) body(req *llm.Request, names *httpapi.ToolNames) ([]byte, error) {
	model := cmp.Or(req.Model, p.model)
	if model == "" {
		return nil, errors.New("request names no model")
	}
	b := fastjson.AppendText(append(make([]byte, 0, req.BodySize()), `{"model":`...), model)
	b, err := p.appendMessages(append(b, `,"messages":[`...), req, names)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	rest := wireRest{
		Tools: wireTools(req.Tools, names), Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
		settings: p.settings.forModel(model),
	}
	if len(req.Schema) > 0 {
		rest.Format = &format{Type: "json_schema", Schema: formatBody{Name: "answer", Schema: req.Schema}}
	}
	end, err := fastjson.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return append(append(b, "],"...), end[1:]...), nil
}

func wireTools(defs []llm.ToolDef, names *httpapi.ToolNames) []wireTool {
	var list []wireTool
	for _, t := range defs {
		f := wireFunction{Name: names.ToWire(t.Name), Description: t.Description, Parameters: t.Schema}
		if len(f.Parameters) == 0 {
			f.Parameters = noParameters
		}
		list = append(list, wireTool{Type: "function", Function: f})
	}
	return list
}
