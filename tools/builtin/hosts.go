package builtin

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agenthost/tools"

	"golang.org/x/net/idna"
)

// hosts are those that may be fetched from without an approval, as host:port.
type hosts []string

// The ports of a host that is named without one.
var usualPorts = []string{"80", "443"}

// parseHosts reads what `fetch.allow_hosts` lists: names and addresses, each
// with a port or without. There are no patterns: who may have a name below
// another one is not known here.
func parseHosts(entries []string) (hosts, error) {
	var list hosts
	for _, entry := range entries {
		host, ports := entry, usualPorts
		if name, port, err := net.SplitHostPort(entry); err == nil && validPort(port) {
			host, ports = name, []string{port}
		}
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		_, err := netip.ParseAddr(host)
		if host == "" || err != nil && (strings.ContainsAny(host, "/:*?@[]% ") || endsInNumber(host)) || !ascii(host) {
			return nil, fmt.Errorf("%q is no host such as example.com, example.com:8443 or 192.0.2.1", entry)
		}
		for _, port := range ports {
			list = append(list, net.JoinHostPort(canonicalHost(host), port))
		}
	}
	return list, nil
}

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// cover reports whether u is on one of the hosts. A name with letters beyond
// ASCII is on none: it is turned into another one before it is looked up.
func (h hosts) cover(u *url.URL) bool {
	return ascii(u.Hostname()) && slices.Contains(h, hostOf(u))
}

// names reports whether an address, or this machine, is one of the hosts. Then it is meant,
// though it is not public; a name may lead anywhere.
func (h hosts) names(host, port string) bool {
	host = canonicalHost(host)
	_, err := netip.ParseAddr(host)
	return (err == nil || host == "localhost") && slices.Contains(h, net.JoinHostPort(host, port))
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 })
}

// hostOf is the host of u with its port.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host, _ := dialled(u.Hostname())
	return net.JoinHostPort(host, port)
}

// dialled is a host as it is looked up: letters beyond ASCII may look like others. ok is false
// where there is no such name.
func dialled(host string) (name string, ok bool) {
	if ascii(host) {
		return canonicalHost(host), true
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return host, false
	}
	return canonicalHost(name), true
}

// dialAs has u lead to the host that dialled says, which a person has approved. net/http
// looks a name up by tables of its own, which may be of another version, and names another host in its
// request where letters are wide or large.
func dialAs(u *url.URL) error {
	if err := checkURL(u); err != nil || ascii(u.Hostname()) {
		return err
	}
	host, ok := dialled(u.Hostname())
	if !ok {
		return fmt.Errorf("host %q is no name that can be looked up", u.Hostname())
	}
	u.Host = withPort(host, u)
	return checkURL(u)
}

func withPort(host string, u *url.URL) string {
	if port := u.Port(); port != "" {
		return host + ":" + port
	}
	return host
}

// shownAddress is an address for a person who approves it: its host as it is dialled, the rest as it
// was written.
func shownAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || ascii(u.Host) {
		return address
	}
	host, ok := dialled(u.Hostname())
	if !ok {
		host = url.PathEscape(host)
	}
	scheme, rest, _ := strings.Cut(address, "//")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	user := rest[:strings.LastIndexByte(rest[:end], '@')+1]
	return scheme + "//" + user + withPort(host, u) + rest[end:]
}

// destination reads the arguments of a call as fetch does.
func (f *fetcher) destination(args json.RawMessage) tools.Destination {
	var wanted fetchArgs
	_ = json.Unmarshal(args, &wanted) // what cannot be read has no host, which is never allowed
	to := tools.Destination{Address: wanted.URL}
	if u, err := url.Parse(wanted.URL); err == nil && checkURL(u) == nil {
		to.Host, to.Open = hostOf(u), f.open.cover(u)
	}
	return to
}

// checkRedirect refuses what leads to a host that the call was not allowed for.
// A page of a host that is allowed may send anything that its address holds
// anywhere.
func (f *fetcher) checkRedirect(from, to *url.URL) error {
	if f.open.cover(to) || sameHost(from, to) {
		return nil
	}
	return fmt.Errorf("it redirects to %s, which is another host; call fetch_url with that address if it is wanted", to.Redacted())
}

// sameHost reports whether both are on one host, by the same port or by the
// usual ones: most servers lead from http to https.
func sameHost(a, b *url.URL) bool {
	if hostOf(a) == hostOf(b) {
		return true
	}
	nameA, portA, _ := net.SplitHostPort(hostOf(a))
	nameB, portB, _ := net.SplitHostPort(hostOf(b))
	return nameA == nameB && slices.Contains(usualPorts, portA) && slices.Contains(usualPorts, portB)
}
