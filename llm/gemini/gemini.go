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
	"iter"
	"net/http"
	"net/url"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	version        = "v1beta"
)

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	api  *httpapi.API
	base *url.URL
	cfg  llm.Config
}

// New is a Provider for the server at cfg.BaseURL, by default Google's own.
// cfg.Model is used for requests that name none. A nil transport is that of
// [httpapi.Client].
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := httpapi.BaseURL(cfg.BaseURL, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/"+version) // as people paste it
	p := &Provider{base: base, cfg: cfg}
	p.api = &httpapi.API{
		Client:  httpapi.Client(cfg.Timeouts, transport),
		Key:     cfg.APIKey,
		Header:  http.Header{},
		Whole:   "{[",
		Foreign: errNoAnswer,
		Encode:  p.encode,
		Decode:  func(a *httpapi.Answer) httpapi.Decoder { return &answer{Answer: a} },
		Fail:    statusError,
	}
	if cfg.APIKey != "" { // never in the URL, which proxies write to their logs
		p.api.Header.Set("X-Goog-Api-Key", cfg.APIKey)
	}
	return p, nil
}

// Stream streams the answer to req. Every error is an *llm.Error, and none ever
// contains the API key.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	req.Model = strings.TrimPrefix(cmp.Or(req.Model, p.cfg.Model), "models/")
	return p.api.Stream(ctx, req)
}

func (p *Provider) encode(req *llm.Request, names *httpapi.ToolNames) (target string, body []byte, err error) {
	body, err = p.body(*req, names)
	return p.endpoint(req.Model), body, err
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
