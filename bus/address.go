package bus

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// servers is the nats.Option that names the servers: those of the
// configuration, else those of the context that is already in o.
func (c Config) servers(o *nats.Options) error {
	if c.URL != "" {
		o.Servers = addresses(c.URL)
	}
	if len(o.Servers) == 0 {
		o.Servers = []string{nats.DefaultURL}
	}
	return checkAddresses(strings.Join(o.Servers, ","))
}

func addresses(list string) []string {
	var all []string
	for address := range strings.SplitSeq(list, ",") {
		if address = strings.TrimSpace(address); address != "" {
			all = append(all, address)
		}
	}
	return all
}

// checkAddresses words its errors itself, as those of net/url quote the
// password. It shows what follows the last @ of the whole list: a comma in a
// password makes the first half of it look like an address.
func checkAddresses(list string) error {
	shown := list[strings.LastIndex(list, "@")+1:]
	for _, address := range addresses(list) {
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return fmt.Errorf("nats.url %q: not an address; write nats://host:4222, and the signs of a password as %%XX", shown)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("nats.url %q: unknown scheme %q; it can be nats, tls, ws or wss", shown, u.Scheme)
		}
	}
	return nil
}

// redact returns a list of addresses without credentials.
func redact(list string) string {
	all := addresses(list)
	for i, address := range all {
		at := strings.LastIndex(address, "@")
		if at < 0 {
			continue
		}
		scheme, _, ok := strings.Cut(address, "://")
		all[i] = address[at+1:]
		if ok {
			all[i] = scheme + "://" + all[i]
		}
	}
	return strings.Join(all, ",")
}
