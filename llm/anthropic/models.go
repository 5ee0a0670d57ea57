package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"agenthost/llm"
)

// Models are the names of the models that the server has. The configured one is
// among them when it is another name for one of them. Every error is an
// *llm.Error, and none ever contains the API key.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var list struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := p.fetch(ctx, "", &list); err != nil {
		return nil, err
	}
	if list.Data == nil {
		return nil, &llm.Error{Code: llm.CodeProviderUnavailable, Status: http.StatusOK, Err: llm.ErrForeign}
	}
	var names []string
	for _, m := range *list.Data {
		names = append(names, m.ID)
	}
	var one struct {
		ID string `json:"id"`
	}
	if p.cfg.Model != "" && !slices.Contains(names, p.cfg.Model) && p.fetch(ctx, p.cfg.Model, &one) == nil && one.ID != "" {
		names = append(names, p.cfg.Model)
	}
	return names, nil
}

// fetch asks for a model, or with none for the list of them.
func (p *Provider) fetch(ctx context.Context, model string, v any) error {
	target := p.endpoint.JoinPath("..", "models", url.PathEscape(model))
	if model == "" {
		query := target.Query()
		query.Set("limit", "1000") // all of them
		target.RawQuery = query.Encode()
	}
	return p.api.Get(ctx, target, v)
}
