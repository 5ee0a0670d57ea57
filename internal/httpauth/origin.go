package httpauth

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"agenthost/bus"
)

// foreign reports whether a page of another site makes the request. With each POST
// browsers say where it comes from, so one that does not say is of another program.
func foreign(r *http.Request) bool {
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin":
		return false
	case "none": // the person has typed the address
		return r.Method != http.MethodGet && r.Method != http.MethodHead
	case "":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// onThisMachine reports whether a request names this machine. A web page whose name
// was made to lead to the loopback address would read along otherwise.
func onThisMachine(r *http.Request) bool {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = strings.Trim(r.Host, "[]") // without a port
	}
	return bus.Loopback(strings.ToLower(name))
}
