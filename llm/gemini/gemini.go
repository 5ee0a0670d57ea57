// Package gemini speaks the Generative Language API, Google's own for its
// Gemini models. It always streams; a stream that breaks before the model has
// finished is always an error.
//
// What a model thinks is never sent back to it, only the signatures that stand
// for it: each on the very part it came with, as models from Gemini 3 on refuse
// a tool's result without them.
package gemini

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
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	version        = "v1beta"
)

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	client *http.Client
	base   *url.URL
	cfg    llm.Config
}

// New is a Provider for the server at cfg.BaseURL, by default Google's own.
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
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/"+version) // as people paste it
	return &Provider{client: llm.HTTPClient(cfg.Timeouts, transport), base: base, cfg: cfg}, nil
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
	req.Model = strings.TrimPrefix(cmp.Or(req.Model, p.cfg.Model), "models/")
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
	r, err := llm.NewPost(ctx, p.endpoint(req.Model), body, &req)
	if err != nil {
		return nil, err
	}
	if p.cfg.APIKey != "" { // never in the URL, which proxies write to their logs
		r.Header.Set("X-Goog-Api-Key", p.cfg.APIKey)
	}
	return r, nil
}

// endpoint takes a model's bare name, or the path of another kind of model, as
// tunedModels/x.
func (p *Provider) endpoint(model string) string {
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	u := p.base.JoinPath(version, model+":streamGenerateContent")
	query := u.Query()
	query.Set("alt", "sse")
	u.RawQuery = query.Encode()
	return u.String()
}
