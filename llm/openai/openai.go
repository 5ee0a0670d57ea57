// Package openai speaks the chat completions of OpenAI, and of the many servers
// that are compatible with it to some degree: gateways, hosted models, and what
// runs on one's own machine. It always streams, and forgives what a server may
// leave out or do differently as long as no word is lost; a stream that breaks
// before the model has finished is always an error.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"agenthost/llm"
)

const defaultBaseURL = "https://api.openai.com/v1"

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	client   *http.Client
	endpoint string
	host     string
	key      string
	model    string
	settings settings
}

// New is a Provider for the server at cfg.BaseURL, by default OpenAI's own. The
// API key may be empty, for servers that want none. cfg.Model is used for
// requests that name none. A nil transport is that of
// [llm.HTTPClient].
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := url.Parse(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("read base_url: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base_url %q is not of the form https://host/path", cfg.BaseURL)
	}
	return &Provider{
		client:   llm.HTTPClient(cfg.Timeouts, transport),
		endpoint: base.JoinPath("chat", "completions").String(),
		host:     base.Host,
		key:      cfg.APIKey,
		model:    cfg.Model,
		settings: settingsOf(cfg, base.Hostname()),
	}, nil
}

// Stream streams the answer to req. Every error is an *llm.Error, and none ever
// contains the API key.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := p.stream(ctx, req, yield); err != nil {
			yield(llm.Delta{}, llm.Shown(ctx, err, p.key))
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
		a := answer{body: b, yield: yield, names: names, thoughts: thoughts{from: p.host}}
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
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	return r, nil
}
