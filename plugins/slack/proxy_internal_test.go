package slack

import (
	"net/http"
	"net/url"
	"testing"
)

// Where the Web API is reached by a proxy, so is the socket. No test server can show it: nothing
// on this machine is reached by a proxy.
func TestSocketByProxy(t *testing.T) {
	t.Parallel()
	r := &http.Request{URL: &url.URL{Scheme: "https", Host: "wss-primary.slack.com"}}
	if dialer.Proxy == nil {
		t.Fatal("the socket is opened without the proxy of the environment")
	}
	if _, err := dialer.Proxy(r); err != nil {
		t.Error(err)
	}
}
