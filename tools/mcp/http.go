package mcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errForgotten ends a connection whose session the server does not know (any
// more): it was started anew.
var errForgotten = errors.New("server has forgotten the session")

// streamLimit is how long a server may take to open the stream for what it says
// on its own, and to take a goodbye.
const streamLimit = 10 * time.Second

// A sessionTransport adds the configured headers to the requests of a session,
// and sees when the server no longer knows it.
type sessionTransport struct {
	server    *url.URL
	headers   map[string]string
	calls     *http.Transport // without a limit: an answer takes what a tool takes
	streams   *http.Transport
	forgotten func()
}

func overHTTP(cfg tools.MCPConfig, forgotten func()) (carrier, error) {
	server, err := url.Parse(cfg.URL)
	if err != nil {
		return carrier{}, err
	}
	t := &sessionTransport{server: server, headers: cfg.Headers, forgotten: forgotten}
	t.calls = http.DefaultTransport.(*http.Transport).Clone()
	t.streams = t.calls.Clone()
	t.streams.ResponseHeaderTimeout = streamLimit
	return carrier{
		transport: &sdk.StreamableClientTransport{
			Endpoint: cfg.URL, HTTPClient: &http.Client{Transport: t}, MaxEventSize: longestMessage,
		},
		stop: func() {
			t.calls.CloseIdleConnections()
			t.streams.CloseIdleConnections()
		},
	}, nil
}

// RoundTrip sends one request of the session.
func (t *sessionTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.server.Host && req.URL.Scheme == t.server.Scheme { // not where a redirect leads
		req = req.Clone(req.Context())
		for name, value := range t.headers {
			req.Header.Set(name, value)
		}
	}
	if req.Method != http.MethodPost {
		return t.stream(req)
	}
	resp, err := t.calls.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if unknownSession(req, resp) {
		t.forgotten()
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // whose events the library bounds
		resp.Body = &message{ReadCloser: resp.Body, left: longestMessage}
	}
	return resp, nil
}

var errLong = fmt.Errorf("message is longer than %d MiB", longestMessage>>20)

// A message is a body with one message of a server, which the library reads as
// a whole.
type message struct {
	io.ReadCloser
	left int
}

func (m *message) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, errLong
	}
	n, err := m.ReadCloser.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// unknownSession is 404 by the book; some servers answer 400.
func unknownSession(req *http.Request, resp *http.Response) bool {
	known := resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusBadRequest
	return !known && req.Header.Get("Mcp-Session-Id") != ""
}

// stream opens the server's own stream. A server that keeps the request without
// an answer has none; the library would wait for it for ever.
func (t *sessionTransport) stream(req *http.Request) (*http.Response, error) {
	resp, err := t.streams.RoundTrip(req)
	var silent net.Error
	if req.Method == http.MethodGet && errors.As(err, &silent) && silent.Timeout() && req.Context().Err() == nil {
		return &http.Response{
			StatusCode: http.StatusMethodNotAllowed, Status: "405 Method Not Allowed",
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: req,
		}, nil
	}
	return resp, err
}
