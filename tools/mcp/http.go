package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/internal/mcpoauth"
	"agenthost/tools"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// maxRedirects is how many redirects a request follows.
const maxRedirects = 5

// errForgotten ends a connection whose session the server does not know (any
// more): it was restarted.
var errForgotten = errors.New("server has forgotten the session")

// streamLimit is how long a server may take to open the stream for what it says
// on its own, and to take a goodbye; tests set it.
var streamLimit = 10 * time.Second

// A sessionTransport adds the configured headers to the requests of a session,
// and sees when the server no longer knows it.
type sessionTransport struct {
	server  *url.URL
	headers map[string]string
	calls   *http.Transport // without a limit: an answer takes what a tool takes
	streams *http.Transport
	link    *link
	log     zerolog.Logger
	login   string // the command that cures the lack of a token
	// What the requests of this server go through: calls and streams, with a token
	// where the server wants one.
	toCall, toStream http.RoundTripper
}

func (p *peer) overHTTP(l *link) (carrier, error) {
	cfg := p.cfg
	server, err := url.Parse(cfg.URL)
	if err != nil {
		return carrier{}, err
	}
	t := &sessionTransport{server: server, headers: cfg.Headers, link: l, log: p.log, login: "agenthost mcp login " + p.name}
	t.calls = httptransport.New()
	t.streams = t.calls.Clone()
	t.streams.ResponseHeaderTimeout = streamLimit
	if err := t.authorize(cfg, p.opts.Tokens); err != nil {
		return carrier{}, err
	}
	return carrier{
		transport: &sdk.StreamableClientTransport{
			Endpoint: cfg.URL, HTTPClient: &http.Client{Transport: t, CheckRedirect: t.onlyHere}, MaxEventSize: longestMessage + 1<<10, // the filter bounds a line
		},
		stop: func() {
			t.calls.CloseIdleConnections()
			t.streams.CloseIdleConnections()
		},
	}, nil
}

// authorize gives the requests the tokens of the server. An Authorization that is
// configured needs none.
func (t *sessionTransport) authorize(cfg tools.MCPConfig, tokens string) error {
	t.toCall, t.toStream = t.calls, t.streams
	given := slices.ContainsFunc(slices.Collect(maps.Keys(cfg.Headers)), func(name string) bool {
		return strings.EqualFold(name, "Authorization")
	})
	if given || tokens == "" && cfg.OAuth.Grant != tools.ClientCredentials {
		return nil
	}
	shared, err := mcpoauth.NewTransport(t.calls, cfg, tokens)
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	t.toCall, t.toStream = shared, shared.Over(t.streams)
	return nil
}

// refused is the error of a request for which there is no token.
func (t *sessionTransport) refused(err error) error {
	missing, ok := errors.AsType[*mcpoauth.Error](err)
	if !ok {
		return err
	}
	text := missing.Error()
	if errors.Is(err, mcpoauth.ErrLogin) {
		text += "; run " + t.login
	}
	return &httpError{code: http.StatusUnauthorized, text: text}
}

// onlyHere refuses redirects to another host: a server may not choose what this host sends
// requests to, such as an address of its own network.
func (t *sessionTransport) onlyHere(req *http.Request, via []*http.Request) error {
	to, secured := req.URL, t.server.Scheme == "http" && req.URL.Scheme == "https" // then by another port
	switch {
	case !strings.EqualFold(to.Hostname(), t.server.Hostname()) || !secured && (to.Scheme != t.server.Scheme || to.Port() != t.server.Port()):
		return fmt.Errorf("redirects to %s, which is not followed: if that is the server, set it as its url", to.Redacted())
	case len(via) > maxRedirects:
		return errors.New("redirects without end")
	}
	return nil
}

// RoundTrip sends one request of the session.
func (t *sessionTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if t.toServer(req) {
		for name, value := range t.headers {
			req.Header.Set(name, value)
		}
	}
	if req.Method != http.MethodPost {
		return t.stream(req)
	}
	return t.post(req)
}

// toServer reports whether a request goes to the server, and not where a redirect
// of it leads, which is to know neither headers nor tokens.
func (t *sessionTransport) toServer(req *http.Request) bool {
	return req.URL.Host == t.server.Host && req.URL.Scheme == t.server.Scheme
}

// post sends one message. What comes of it is noted with the call that it is
// for, so that nothing is sent again that the server may have taken.
func (t *sessionTransport) post(req *http.Request) (*http.Response, error) {
	sent := sentHead(req)
	a, _ := req.Context().Value(askedKey{}).(*asked)
	if a == nil || len(sent.ID) == 0 || sent.Method == "" {
		a = &asked{} // no call of a tool, or only about one
	}
	if a.call.TraceParent != "" {
		req.Header.Set("Traceparent", a.call.TraceParent)
	}
	if a.call.TraceState != "" {
		req.Header.Set("Tracestate", a.call.TraceState)
	}
	before := a.taken.Load()
	traced := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.taken.Store(true) },
	})
	via := t.toCall
	if !t.toServer(req) {
		via = t.calls
	}
	if sent.Method == "server/discover" {
		var answered func()
		traced, answered = soon(traced)
		defer answered()
	}
	resp, err := via.RoundTrip(req.WithContext(traced))
	if err != nil {
		return nil, t.refused(err)
	}
	resp.Request = req
	if resp.StatusCode >= http.StatusBadRequest {
		resp, err = t.judge(req, sent, resp)
	}
	if errors.Is(err, errForgotten) {
		a.taken.Store(before)
	}
	if err != nil {
		return nil, err
	}
	filter(resp, sent.ID, t.leaveOut)
	if a.ctx != nil {
		err = complete(resp)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// discoverLimit is how long a server may take to say whether it knows the modern
// way to begin: some leave unanswered what they do not know.
const discoverLimit = 2 * time.Second

// soon is ctx for a request that ends unless answered is called in time.
func soon(ctx context.Context) (limited context.Context, answered func()) {
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(discoverLimit, cancel)
	return limited, func() { timer.Stop() }
}

// judge says what a response with an error status means, for its request and for
// the session that the request named.
func (t *sessionTransport) judge(req *http.Request, sent head, resp *http.Response) (*http.Response, error) {
	code := resp.StatusCode
	unknown := code == http.StatusNotFound || code == http.StatusBadRequest
	inSession := req.Header.Get("Mcp-Session-Id") != ""
	resp, answer, err := answered(req, sent, resp)
	switch {
	case !unknown || !inSession:
	case answer != nil && answer.Code != jsonrpc.CodeMethodNotFound:
		t.listAgain(sent)
	case err != nil && code == http.StatusNotFound:
		t.link.end(errForgotten)
		return nil, errForgotten
	}
	return resp, err
}

// listAgain tries the session by its first request, which the server has answered
// in it: some servers say in what looks like the answer to a request that they do
// not know the session. A ping would not do: a server may refuse all pings.
func (t *sessionTransport) listAgain(sent head) {
	if sent.Method == "tools/list" {
		t.link.end(errForgotten)
		return
	}
	poke(t.link.changed)
}

// stream opens the server's own stream, or ends the session. A server that keeps
// the request without an answer has no stream; the library would wait for it for
// ever. A session that the server has forgotten needs no end.
func (t *sessionTransport) stream(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete && t.link.forgotten() {
		return madeUp(req, http.StatusNotFound), nil
	}
	via := t.toStream
	if !t.toServer(req) {
		via = t.streams
	}
	resp, err := via.RoundTrip(req)
	if err == nil {
		filter(resp, nil, t.leaveOut)
	}
	var silent net.Error
	if req.Method == http.MethodGet && errors.As(err, &silent) && silent.Timeout() && req.Context().Err() == nil {
		return madeUp(req, http.StatusMethodNotAllowed), nil
	}
	return resp, err
}

// leaveOut logs what a server sends that answers no request.
func (t *sessionTransport) leaveOut(words []byte) {
	t.log.Warn().Str("message", shown(words)).Msg("read message of MCP server: it answers no request; left out")
}

// madeUp is a response that no server has sent.
func madeUp(req *http.Request, code int) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}
