// Package httpapi is what the providers have in common whose models stream their
// answers over HTTP: the client, the request, the reading of the answer from its
// first byte to its end, and errors that show no secret. A provider says what is
// its own by an [API]: how a request and a chunk of an answer are written.
package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"

	"agenthost/llm"
)

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// An API is how one kind of server is asked. It must not change once it is used,
// and is safe for concurrent use.
type API struct {
	Client *http.Client
	Key    string      // that no error may show
	Header http.Header // of each request
	// Whole are the bytes that an answer in one piece may begin with.
	Whole string
	// Foreign is the cause when what came is a page.
	Foreign error
	// Encode writes a request, and says where it goes. Its errors are the
	// request's.
	Encode func(req *llm.Request, names *ToolNames) (url string, body []byte, err error)
	// Decode begins to read an answer.
	Decode func(*Answer) Decoder
	// Fail is the error of an answer whose status is not 2xx. The body may be
	// cut, and has no space around it.
	Fail func(status int, header http.Header, body []byte) error
}

// BaseURL is the address of a server as it is configured, or else fallback.
func BaseURL(configured, fallback string) (*url.URL, error) {
	if configured == "" {
		configured = fallback
	}
	base, err := url.Parse(configured)
	if err != nil {
		return nil, fmt.Errorf("read base_url: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base_url %q is not of the form https://host/path", configured)
	}
	return base, nil
}

// Stream streams the answer to req. Every error is an *llm.Error.
func (a *API) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := a.stream(ctx, &req, yield); err != nil {
			yield(llm.Delta{}, Shown(ctx, err, a.Key))
		}
	}
}

// stream is nil when the caller has seen the end or has left.
func (a *API) stream(ctx context.Context, req *llm.Request, yield func(llm.Delta, error) bool) error {
	names := NamesOf(req.Tools)
	r, err := a.request(ctx, req, names)
	if err != nil {
		return err
	}
	return exchange(a.Client, r, a.failed, func(b *body) error {
		answer := &Answer{Names: names, body: b, yield: yield}
		return answer.read(a, a.Decode(answer))
	})
}

func (a *API) request(ctx context.Context, req *llm.Request, names *ToolNames) (*http.Request, error) {
	target, body, err := a.Encode(req, names)
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	r, err := newPost(ctx, target, body, req)
	if err != nil {
		return nil, err
	}
	a.sign(r)
	return r, nil
}

func (a *API) sign(r *http.Request) {
	maps.Copy(r.Header, a.Header)
}

func (a *API) failed(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // half a text is better than none
	return a.Fail(res.StatusCode, res.Header, bytes.TrimSpace(body))
}

// Get reads the JSON at target into v. Every error is an *llm.Error.
func (a *API) Get(ctx context.Context, target *url.URL, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	a.sign(r)
	if err := fetch(a.Client, r, v, a.failed); err != nil {
		return Shown(ctx, err, a.Key)
	}
	return nil
}
