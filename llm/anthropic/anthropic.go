// Package anthropic speaks the Messages API of Anthropic, and of the servers
// that are compatible with it. It always streams. What a model thought goes back
// to it word for word, with its signature; what was sent before is marked for
// the provider's cache of prompts. A stream that breaks before the model has
// finished is always an error.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

const (
	defaultBaseURL = "https://api.anthropic.com"
	version        = "2023-06-01"
)

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	api      *httpapi.API
	endpoint *url.URL
	target   string // endpoint as text
	cfg      llm.Config
}

// New is a Provider for the server at cfg.BaseURL, by default Anthropic's own.
// cfg.Model is used for requests that name none. A nil transport is that of
// [httpapi.Client].
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := httpapi.BaseURL(cfg.BaseURL, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	// Some write it with the version, as for openai.
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	p := &Provider{endpoint: base.JoinPath("v1", "messages"), cfg: cfg}
	p.target = p.endpoint.String()
	p.api = &httpapi.API{
		Client:  httpapi.Client(cfg.Timeouts, transport),
		Key:     cfg.APIKey,
		Header:  http.Header{"Anthropic-Version": {version}},
		Whole:   "{",
		Foreign: errNoAnswer,
		Encode:  p.encode,
		Decode:  func(a *httpapi.Answer) httpapi.Decoder { return &answer{Answer: a} },
		Fail:    statusError,
	}
	if cfg.APIKey != "" {
		p.api.Header.Set("X-Api-Key", cfg.APIKey)
	}
	return p, nil
}

// Stream streams the answer to req. Every error is an *llm.Error, and none ever
// contains the API key.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return p.api.Stream(ctx, req)
}

func (p *Provider) encode(req *llm.Request, names *httpapi.ToolNames) (target string, body []byte, err error) {
	body, err = p.body(*req, names)
	return p.target, body, err
}
