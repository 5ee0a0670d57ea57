package mcpoauth

import (
	"context"
	"io"
	"net/http"
	"strings"

	"agenthost/tools"
)

// tokens are where the tokens for one server are from.
type tokens interface {
	token(ctx context.Context) (string, error)
	renew(req *http.Request, resp *http.Response, refused string) error
}

// A Transport adds a token to the requests to one MCP server, and gets another
// when the server refuses it.
type Transport struct {
	base   http.RoundTripper
	tokens tokens
	sure   bool // the configuration says that the server wants a token
}

// An Error says why there is no token that the server accepts. The server has
// refused the request, or not seen it.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// NewTransport returns a transport for the server of cfg, with the tokens that
// are kept in folder.
func NewTransport(base http.RoundTripper, cfg tools.MCPConfig, folder string) (*Transport, error) {
	client := &http.Client{Transport: base, Timeout: limit}
	if cfg.OAuth.Grant == tools.ClientCredentials {
		own, err := newCredentials(cfg.OAuth.ClientID, cfg.OAuth.ClientSecret, client)
		return &Transport{base, own, true}, err
	}
	return &Transport{base, newKept(folder, cfg.URL, client), cfg.OAuth != tools.OAuthConfig{}}, nil
}

// Over returns a transport with the same tokens over another one.
func (t *Transport) Over(base http.RoundTripper) *Transport {
	other := *t
	other.base = base
	return &other
}

// RoundTrip sends a request, and once more with another token if that is what the
// server wants.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.tokens.token(req.Context())
	if err != nil {
		return nil, &Error{err}
	}
	resp, err := t.base.RoundTrip(with(req, token))
	if err != nil || !t.wantsToken(resp, token) {
		return resp, err
	}
	err = t.tokens.renew(req, resp, token)
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if err == nil {
		token, err = t.tokens.token(req.Context())
	}
	if err != nil {
		return nil, &Error{err}
	}
	if req.GetBody != nil {
		req = req.Clone(req.Context())
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.base.RoundTrip(with(req, token))
}

// wantsToken reports whether another token may help. A server that is not known
// to give tokens may want a header that the configuration lacks.
func (t *Transport) wantsToken(resp *http.Response, sent string) bool {
	if resp.StatusCode != http.StatusUnauthorized && (resp.StatusCode != http.StatusForbidden || sent != "") {
		return false
	}
	challenge := strings.ToLower(resp.Header.Get("WWW-Authenticate"))
	return t.sure || sent != "" || strings.HasPrefix(challenge, "bearer")
}

func with(req *http.Request, token string) *http.Request {
	if token == "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return req
}
