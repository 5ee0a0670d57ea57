package httpapi

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"agenthost/llm"
)

const maxRedirects = 5

// Client is the client for calls of a provider. A nil transport is one that
// connects within t.Connect, or its default; what comes then may take as long as
// the caller's ctx, or the Timeouts of its [llm.Link].
func Client(t llm.Timeouts, transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = newTransport(cmp.Or(t.Connect, llm.DefaultConnect))
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

// newTransport bounds the way to the server only: a local one sends its headers
// when it has read the whole prompt. The pool is large enough for the parallel
// runs of one agent.
func newTransport(connect time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   connect,
		ExpectContinueTimeout: time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		// One connection with HTTP/2 has all calls of a server: where it is lost, without these
		// each of them would fail until TCP gives it up after a quarter of an hour or longer.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}
