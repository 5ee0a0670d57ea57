// Package httptransport makes transports for HTTP that share no connection with others.
package httptransport

import (
	"net"
	"net/http"
	"time"
)

// New is a transport of its own with the settings of the default one. A program may have put
// what is no *http.Transport in the place of that, such as one that writes traces.
func New() *http.Transport {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{ // as net/http makes it
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}
