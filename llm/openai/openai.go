// Package openai speaks the chat completions of OpenAI, and of the many servers
// that are compatible with it to some degree: gateways, hosted models, and what
// runs on one's own machine. It always streams, and forgives what a server may
// leave out or do differently as long as no word is lost; a stream that breaks
// before the model has finished is always an error.
package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

const defaultBaseURL = "https://api.openai.com/v1"

// A Provider calls one server. It is safe for concurrent use.
type Provider struct {
	api      *httpapi.API
	endpoint *url.URL
	target   string // endpoint as text
	host     string
	model    string
	settings settings
}

// New is a Provider for the server at cfg.BaseURL, by default OpenAI's own. The
// API key may be empty, for servers that want none. cfg.Model is used for
// requests that name none. A nil transport is that of [httpapi.Client].
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := httpapi.BaseURL(cfg.BaseURL, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		endpoint: base.JoinPath("chat", "completions"),
		host:     base.Host,
		model:    cfg.Model,
		settings: settingsOf(cfg, base.Hostname()),
	}
	p.target = p.endpoint.String()
	p.api = &httpapi.API{
		Client:  httpapi.Client(cfg.Timeouts, transport),
		Key:     cfg.APIKey,
		Header:  http.Header{},
		Whole:   "{",
		Foreign: errNoAnswer,
		Encode:  p.encode,
		Decode: func(a *httpapi.Answer) httpapi.Decoder {
			return &answer{Answer: a, host: p.host, thoughts: thoughts{from: p.host}}
		},
		Fail: statusError,
	}
	if cfg.APIKey != "" {
		p.api.Header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	return p, nil
}

// Stream streams the answer to req. Every error is an *llm.Error, and none ever
// contains the API key.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return p.api.Stream(ctx, req)
}

func (p *Provider) encode(req *llm.Request, names *httpapi.ToolNames) (target string, body []byte, err error) {
	body, err = p.body(req, names)
	return p.target, body, err
}
