package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
)

func (k *checker) checkNATS() {
	c := k.c.NATS
	if c.URL != "" && c.Context != "" {
		k.fault("nats.context", "url and context together; want one of them")
	}
	for server := range strings.SplitSeq(c.URL, ",") {
		if c.URL != "" && !validServer(strings.TrimSpace(server)) {
			k.fault("nats.url", "url: want nats://host:port, or several with commas between them")
			break
		}
	}
	k.checkLogin(c)
	if p := c.InboxPrefix; p != "" && !validInbox(p) {
		k.fault("nats.inbox_prefix", "inbox_prefix %s: want a subject such as _INBOX_host, without * and >", k.quote("nats.inbox_prefix"))
	}
	if k.set("nats.replicas") && !slices.Contains([]int{1, 3, 5}, c.Replicas) {
		k.fault("nats.replicas", "replicas %s: want 1, 3 or 5", k.quote("nats.replicas"))
	}
	if k.set("nats.lanes") && (c.Lanes < 1 || c.Lanes > 64) {
		k.fault("nats.lanes", "lanes %s: want 1 to 64", k.quote("nats.lanes"))
	}
	k.checkEmbedded(c.Embedded)
}

func (k *checker) checkEmbedded(c bus.Embedded) {
	if ways := []string{bus.AnonymousChannels, bus.AnonymousNone, bus.AnonymousAll}; c.Anonymous != "" && !slices.Contains(ways, c.Anonymous) {
		k.fault("nats.embedded.anonymous", "anonymous %s: want %s", k.quote("nats.embedded.anonymous"), strings.Join(ways, ", "))
	}
	if listen := c.Listen; listen != nil && *listen != "" && !validAddress(*listen) {
		k.fault("nats.embedded.listen", `listen %s: want host:port, or "" for no port`, k.quote("nats.embedded.listen"))
	} else if listen != nil && *listen != "" && !loopback(*listen) && c.Anonymous != bus.AnonymousNone && c.Config == "" && !k.c.NATS.External() {
		k.fault("nats.embedded.listen", "listen %s is open to other machines; add anonymous: none, or listen on 127.0.0.1:4222", k.quote("nats.embedded.listen"))
	}
	if sync := c.Sync; sync != "" && sync != "always" {
		if d, err := time.ParseDuration(sync); err != nil || d <= 0 {
			k.fault("nats.embedded.sync", "sync %s: want always, or a duration such as 2m", k.quote("nats.embedded.sync"))
		}
	}
}

func (k *checker) checkLogin(c bus.Config) {
	if c.Password != "" && c.User == "" {
		k.fault("nats.password", "password without user; add user:")
	}
	var ways []string
	for _, w := range []struct{ key, value string }{
		{"creds", c.Creds}, {"nkey", c.NKey}, {"user", c.User}, {"token", c.Token},
	} {
		if w.value != "" {
			ways = append(ways, w.key)
		}
	}
	if len(ways) > 1 {
		k.fault("nats."+ways[1], "%s together; want one way to log in", strings.Join(ways, " and "))
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		k.fault("nats.tls", "tls with one of cert and key; want both, or neither")
	}
}

func validInbox(prefix string) bool {
	return !strings.ContainsAny(prefix, " \t\r\n*>") && !slices.Contains(strings.Split(prefix, "."), "")
}

func validServer(server string) bool {
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	return err == nil && u.Hostname() != "" && slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme)
}
