package builtin_test

import (
	"net/netip"
	"strings"
	"testing"

	"agenthost/tools/builtin"
)

func TestPublic(t *testing.T) {
	tests := map[bool][]string{
		true: {
			"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
			"128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
			"198.17.255.255", "198.20.0.0", "223.255.255.255",
			"2606:4700:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
		},
		false: {
			"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
			"127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.170", "192.0.2.1",
			"192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
			"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
			"::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
			"2001::1", "2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1",
			"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1",
		},
	}
	for want, addresses := range tests {
		for _, address := range addresses {
			if got := builtin.Public(netip.MustParseAddr(address)); got != want {
				t.Errorf("%s: got %v, want %v", address, got, want)
			}
		}
	}
	if builtin.Public(netip.Addr{}) {
		t.Error("no address at all: got public")
	}
}

func TestAllowPrivateThatMeansNothing(t *testing.T) {
	for _, entry := range []string{
		"", "10.0.0.0/33", "http://wiki", "wiki:80", "10.0.0", "0x7f000001", "*.example.com", "a b", "[::1]", "me@host",
	} {
		_, err := builtin.New(builtin.Options{AllowPrivate: []string{"wiki.internal", entry}})
		if err == nil || !strings.HasPrefix(err.Error(), "fetch.allow_private: ") {
			t.Errorf("%q: got error %v", entry, err)
		}
	}
	for _, entry := range []string{"localhost", "wiki.internal.", "10.0.0.0/8", "::1", "fd00::/8", "127.0.0.1"} {
		if _, err := builtin.New(builtin.Options{AllowPrivate: []string{entry}}); err != nil {
			t.Errorf("%q: got error %v", entry, err)
		}
	}
}
