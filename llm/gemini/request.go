package gemini

import (
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// wireRest is what follows the contents in a request.
type wireRest struct {
	Tools  []toolList `json:"tools,omitempty"`
	Config generation `json:"generationConfig,omitzero"`
}

type toolList struct {
	Functions []function `json:"functionDeclarations"`
}

// A function is described by `parametersJsonSchema`. The older `parameters`
// takes a part of OpenAPI's schemas only, and one tool with an
// additionalProperties or a $ref in its schema has the whole request refused;
// the schemas of MCP servers are full of them, and what is rewritten to fit is
// no longer what the answer is checked by.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// A generation says how to answer; a zero field leaves it to the model.
type generation struct {
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Thinking    *thinking       `json:"thinkingConfig,omitempty"`
	MIME        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// body is the same bytes for the same req, so that caches of prompts hit.
func (p *Provider) body(req llm.Request, names *httpapi.ToolNames) ([]byte, error) {
	if req.Model == "" {
		return nil, errors.New("request names no model")
	}
	c := conversation{names: names, signs: signs(req.Model), sent: map[string]call{}}
	c.json = append(make([]byte, 0, req.BodySize()), '{')
	if req.System != "" {
		c.json = append(appendText(append(c.json, `"systemInstruction":{"parts":[`...), req.System), "]},"...)
	}
	c.json = append(c.json, `"contents":`...)
	if err := c.write(req.Messages); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	rest := wireRest{Config: p.generation(req)}
	if len(req.Tools) > 0 {
		rest.Tools = []toolList{{Functions: functions(req.Tools, names)}}
	}
	end, err := fastjson.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if len(end) > len("{}") {
		c.json = append(c.json, ',')
	}
	return append(c.json, end[1:]...), nil
}

// generation asks for an answer by the schema only when there are no tools:
// many models refuse the two together, and the answer is checked anyway.
func (p *Provider) generation(req llm.Request) generation {
	g := generation{
		MaxTokens:   p.cfg.MaxTokens,
		Temperature: p.cfg.Temperature,
		Thinking:    thinkingOf(req.Model, p.cfg.Effort),
	}
	if len(req.Schema) > 0 && len(req.Tools) == 0 {
		g.MIME, g.Schema = "application/json", fitting(req.Schema)
	}
	return g
}

func functions(tools []llm.ToolDef, names *httpapi.ToolNames) []function {
	fs := make([]function, 0, len(tools))
	for _, t := range tools { // a tool without a schema takes nothing
		fs = append(fs, function{names.ToWire(t.Name), t.Description, fitting(t.Schema)})
	}
	return fs
}
