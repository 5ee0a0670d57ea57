package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// special are the networks that do not lead to a public host, from the
// registries of special-purpose addresses of IANA.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23",     // Teredo, benchmarks, ORCHID
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, an IPv4 address in disguise
	"3fff::/20",     // documentation
)

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3") // all that is given out
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// public reports whether an address is one of the internet at large.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		bytes := addr.As16()
		addr = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if addr.Is6() && !publicIPv6.Contains(addr) {
		return false
	}
	return addr.IsValid() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// allowed are the places that may be reached although they are not public.
type allowed struct {
	hosts    []string
	networks []netip.Prefix
}

func parseAllowed(entries []string) (allowed, error) {
	var a allowed
	for _, entry := range entries {
		if addr, err := netip.ParseAddr(entry); err == nil {
			addr = addr.Unmap()
			a.networks = append(a.networks, netip.PrefixFrom(addr, addr.BitLen()))
		} else if network, err := netip.ParsePrefix(entry); err == nil {
			a.networks = append(a.networks, network)
		} else if entry == "" || strings.ContainsAny(entry, "/:*?@[] ") || endsInNumber(entry) {
			return allowed{}, fmt.Errorf("%q is neither a host, an address nor a network such as 10.0.0.0/8", entry)
		} else {
			a.hosts = append(a.hosts, canonicalHost(entry))
		}
	}
	return a, nil
}

// permits reports whether host may be reached at addr.
func (a allowed) permits(host string, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return public(addr) ||
		slices.Contains(a.hosts, canonicalHost(host)) ||
		slices.ContainsFunc(a.networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func canonicalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// endsInNumber reports whether some resolvers would take the host for an IPv4
// address, written in another way than with four decimal numbers.
func endsInNumber(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsValid() {
		return false
	}
	host = canonicalHost(host)
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
