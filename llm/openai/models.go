package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"agenthost/llm"
)

// Models are the names of the models that the server has. The configured one is
// among them when the server takes it by that name, too. Every error is an
// *llm.Error, and none ever contains the API key.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	shelf, err := p.shelf(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(shelf))
	for i, m := range shelf {
		names[i] = m.ID
	}
	if p.taken(shelf, names) {
		names = append(names, p.model)
	}
	return names, nil
}

type shelved struct {
	ID    string `json:"id"`
	Owner loose  `json:"owned_by"`
}

func (p *Provider) shelf(ctx context.Context) ([]shelved, error) {
	var body json.RawMessage
	if err := p.api.Get(ctx, p.endpoint.JoinPath("..", "..", "models"), &body); err != nil {
		return nil, err
	}
	var bare []shelved // as Together has it
	if json.Unmarshal(body, &bare) == nil && body[0] == '[' {
		return bare, nil
	}
	var list struct {
		Object string    `json:"object"`
		Data   []shelved `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil && list.Object != "list" { // Ollama without a model has null
		return nil, &llm.Error{Code: llm.CodeProviderUnavailable, Status: http.StatusOK, Err: llm.ErrForeign}
	}
	return list.Data, nil
}

// taken reports whether the server takes the configured name although its list
// has another.
func (p *Provider) taken(shelf []shelved, names []string) bool {
	base, _, variant := strings.Cut(p.model, ":")
	switch {
	case slices.Contains(names, p.model):
		return false
	case strings.HasSuffix(p.host, ".azure.com"): // names of deployments, which the list does not have
		return true
	case len(shelf) == 1 && shelf[0].Owner == "llamacpp": // it has one, whatever it is called
		return true
	case variant && p.host == "openrouter.ai": // say, :nitro
		return slices.Contains(names, base)
	default: // Ollama
		return slices.Contains(names, p.model+":latest")
	}
}
