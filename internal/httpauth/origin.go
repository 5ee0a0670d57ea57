package httpauth

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"agenthost/bus"
)

// sameOrigin reports whether a page of this host makes the request, as far as the
// browser says: known is false when it says nothing, as other programs do.
func sameOrigin(r *http.Request) (same, known bool) {
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin":
		return true, true
	case "none": // the person has typed the address
		return reads(r), true
	case "":
	default:
		return false, true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false, false
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host), true
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// onThisMachine reports whether a request names this machine. A web page whose name
// was made to lead to the loopback address would read along otherwise.
func onThisMachine(r *http.Request) bool {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = strings.Trim(r.Host, "[]") // without a port
	}
	return bus.Loopback(strings.ToLower(name))
}
