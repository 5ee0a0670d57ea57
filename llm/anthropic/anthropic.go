// Package anthropic speaks the Messages API of Anthropic, and of the servers
// that are compatible with it. It always streams. What a model thought goes back
// to it word for word, with its signature; what was sent before is marked for
// the provider's cache of prompts. A stream that breaks before the model has
// finished is always an error.
package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"agenthost/llm"
)

const (
	defaultBaseURL = "https://api.anthropic.com"
	version        = "2023-06-01"
)

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	client   *http.Client
	endpoint string
	cfg      llm.Config
}

// New is a Provider for the server at cfg.BaseURL, by default Anthropic's own.
// cfg.Model is used for requests that name none. A nil transport is that of
// [llm.HTTPClient].
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := url.Parse(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("read base_url: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base_url %q is not of the form https://host/path", cfg.BaseURL)
	}
	// Some write it with the version, as for openai.
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	return &Provider{
		client:   llm.HTTPClient(cfg.Timeouts, transport),
		endpoint: base.JoinPath("v1", "messages").String(),
		cfg:      cfg,
	}, nil
}

// Stream streams the answer to req. Every error is an *llm.Error, and none ever
// contains the API key.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := p.stream(ctx, req, yield); err != nil {
			yield(llm.Delta{}, llm.Shown(ctx, err, p.cfg.APIKey))
		}
	}
}

// stream is nil when the caller has seen the end or has left.
func (p *Provider) stream(ctx context.Context, req llm.Request, yield func(llm.Delta, error) bool) error {
	names := llm.NamesOf(req.Tools)
	r, err := p.request(ctx, req, names)
	if err != nil {
		return err
	}
	return llm.Exchange(p.client, r, statusError, func(b *llm.Body) error {
		a := answer{body: b, yield: yield, names: names}
		return a.read()
	})
}

func (p *Provider) request(ctx context.Context, req llm.Request, names *llm.ToolNames) (*http.Request, error) {
	body, err := p.body(req, names)
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	r, err := llm.NewPost(ctx, p.endpoint, body, &req)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Anthropic-Version", version)
	if p.cfg.APIKey != "" {
		r.Header.Set("X-Api-Key", p.cfg.APIKey)
	}
	return r, nil
}
