// Package httptransport makes transports for HTTP that share no connection with others, and
// leave one that is lost.
package httptransport

import (
	"net"
	"net/http"
	"time"
)

// Of a connection with HTTP/2 on which nothing has come for askAfter the server is asked for a
// sign of life, and has answerWithin to give it. The connection would be used for all further
// requests otherwise, until TCP gives it up after a quarter of an hour or longer. With HTTP/1
// the limit of a request ends its connection as well.
const (
	askAfter     = 30 * time.Second
	answerWithin = 15 * time.Second
)

// New is a transport of its own with the settings of the default one. A program may have put
// what is no *http.Transport in the place of that, such as one that writes traces.
func New() *http.Transport {
	t := withDefaults()
	if t.HTTP2 == nil {
		t.HTTP2 = &http.HTTP2Config{}
	}
	if t.HTTP2.SendPingTimeout == 0 {
		t.HTTP2.SendPingTimeout, t.HTTP2.PingTimeout = askAfter, answerWithin
	}
	return t
}

func withDefaults() *http.Transport {
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
