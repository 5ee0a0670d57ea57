// Package openai speaks the chat completions of OpenAI, and of the many servers
// that are compatible with it to some degree: gateways, hosted models, and what
// runs on one's own machine. It always streams, and forgives what a server may
// leave out or do differently as long as no word is lost; a stream that breaks
// before the model has finished is always an error.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

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
// requests that name none. A nil transport is one with timeouts for everything
// but the answer itself, which may take as long as the caller's ctx.
func New(cfg llm.Config, transport http.RoundTripper) (*Provider, error) {
	base, err := url.Parse(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("read base_url: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base_url %q is not of the form https://host/path", cfg.BaseURL)
	}
	return &Provider{
		client:   llm.HTTPClient(transport),
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
func (p *Provider) stream(caller context.Context, req llm.Request, yield func(llm.Delta, error) bool) error {
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	names := llm.NamesOf(req.Tools)
	res, err := p.send(ctx, req, names)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		defer time.AfterFunc(afterStatus, cancel).Stop()
		return statusError(res)
	}
	a := answer{yield: yield, names: names, hangUp: cancel, thoughts: thoughts{from: p.host}}
	err = a.read(res.Body)
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

func (p *Provider) send(ctx context.Context, req llm.Request, names *llm.ToolNames) (*http.Response, error) {
	body, err := p.body(req, names)
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	res, err := p.client.Do(r)
	if err != nil {
		return nil, llm.Unavailable(err)
	}
	return res, nil
}

// drain lets the connection be used again: what is left is the end of a body,
// or little.
func drain(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, 16<<10)
}
