package gemini

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"agenthost/llm"
)

// Models are the names of the models that the server has. The configured one is
// among them when the server knows it though it is not listed, as one that was
// tuned. Every error is an *llm.Error, and none ever contains the API key.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var list struct {
		Models *[]struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := p.fetch(ctx, "models?pageSize=1000", &list); err != nil { // all of them
		return nil, err
	}
	if list.Models == nil {
		return nil, &llm.Error{Code: llm.CodeProviderUnavailable, Status: http.StatusOK, Err: llm.ErrForeign}
	}
	var names []string
	for _, m := range *list.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	if !slices.Contains(names, p.cfg.Model) && p.knows(ctx, strings.TrimPrefix(p.cfg.Model, "models/"), names) {
		names = append(names, p.cfg.Model)
	}
	return names, nil
}

// knows reports whether the server has a model that it may not list.
func (p *Provider) knows(ctx context.Context, model string, names []string) bool {
	if slices.Contains(names, model) {
		return true
	}
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	var one struct {
		Name string `json:"name"`
	}
	return p.fetch(ctx, model, &one) == nil && one.Name != ""
}

func (p *Provider) fetch(ctx context.Context, path string, v any) error {
	path, query, _ := strings.Cut(path, "?")
	u := p.base.JoinPath(version, path)
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	return p.api.Get(ctx, u, v)
}
