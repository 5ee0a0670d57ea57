package llm

import (
	"net"
	"net/http"
	"time"
)

// HTTPClient is the client for calls of a provider. A nil transport is one with
// timeouts for everything but the answer itself, which may take as long as the
// caller's ctx.
func HTTPClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = newTransport()
	}
	return &http.Client{Transport: transport, CheckRedirect: onlyPosts}
}

// onlyPosts refuses redirects that would turn the call into a GET; their status
// then is the error.
func onlyPosts(r *http.Request, _ []*http.Request) error {
	if r.Method != http.MethodPost {
		return http.ErrUseLastResponse
	}
	return nil
}

// newTransport times out everything but the body. The headers may take long: a
// local server sends them only when it has read the whole prompt. The pool is
// large enough for the parallel runs of one agent.
func newTransport() *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 5 * time.Minute,
		ExpectContinueTimeout: time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}
