package llm

import (
	"net"
	"net/http"
	"time"
)

const maxRedirects = 5

// HTTPClient is the client for calls of a provider. A nil transport is one with
// timeouts for everything but the answer itself, which may take as long as the
// caller's ctx.
func HTTPClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = newTransport()
	}
	return &http.Client{Transport: transport, CheckRedirect: onlyHere}
}

// onlyHere refuses redirects that would turn the call into a GET or show the
// key to others: of the headers that keys are in, only some are left out on the
// way to another host. The status of the redirect then is the error.
func onlyHere(r *http.Request, via []*http.Request) error {
	from := via[0].URL
	exposed := r.URL.Host != from.Host || from.Scheme == "https" && r.URL.Scheme != "https"
	if r.Method != http.MethodPost || exposed || len(via) > maxRedirects {
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
