package config

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/yamldoc"
)

// notInDomain is what NATS allows in no name of a domain, which is a token of subjects.
const notInDomain = " \t\r\n\f.*>"

func (k *checker) checkNATS() {
	c := k.c.NATS
	if c.URL != "" && c.Context != "" {
		k.Fault("nats.context", "url and context together; want one of them")
	}
	for server := range strings.SplitSeq(c.URL, ",") {
		if c.URL != "" && !validServer(strings.TrimSpace(server)) {
			k.Fault("nats.url", "url: want nats://host:port, or several with commas between them")
			break
		}
	}
	k.checkLogin(c)
	if p := c.InboxPrefix; p != "" && !validInbox(p) {
		k.Fault("nats.inbox_prefix", "inbox_prefix %s: want a subject such as _INBOX_host, without * and >", k.Quote("nats.inbox_prefix"))
	}
	if strings.ContainsAny(c.Domain, notInDomain) {
		k.Fault("nats.domain", "domain %s: want a name such as edge, without spaces and . * >", k.Quote("nats.domain"))
	}
	k.token("nats.owner", "owner", c.Owner)
	if k.Set("nats.replicas") && !slices.Contains([]int{1, 3, 5}, c.Replicas) {
		k.Fault("nats.replicas", "replicas %s: want 1, 3 or 5", k.Quote("nats.replicas"))
	}
	if k.Set("nats.lanes") && (c.Lanes < 1 || c.Lanes > 64) {
		k.Fault("nats.lanes", "lanes %s: want 1 to 64", k.Quote("nats.lanes"))
	}
	k.checkEmbedded(c.Embedded)
}

func (k *checker) checkEmbedded(c bus.Embedded) {
	if ways := []string{bus.AnonymousChannels, bus.AnonymousNone, bus.AnonymousAll}; c.Anonymous != "" && !slices.Contains(ways, c.Anonymous) {
		k.Fault("nats.embedded.anonymous", "anonymous %s: want %s", k.Quote("nats.embedded.anonymous"), strings.Join(ways, ", "))
	}
	if listen := c.Listen; listen != nil && *listen != "" && !validAddress(*listen) {
		k.Fault("nats.embedded.listen", `listen %s: want host:port, or "" for no port`, k.Quote("nats.embedded.listen"))
	} else if listen != nil && *listen != "" && !loopback(*listen) && c.Anonymous != bus.AnonymousNone && c.Config == "" && !k.c.NATS.External() {
		k.Fault("nats.embedded.listen", "listen %s is open to other machines; add anonymous: none, or listen on 127.0.0.1:4222", k.Quote("nats.embedded.listen"))
	}
	if sync := c.Sync; sync != "" && sync != "always" {
		if d, err := time.ParseDuration(sync); err != nil || d <= 0 {
			k.Fault("nats.embedded.sync", "sync %s: want always, or a duration such as 2m", k.Quote("nats.embedded.sync"))
		}
	}
}

func (k *checker) checkLogin(c bus.Config) {
	if c.Password != "" && c.User == "" {
		k.Fault("nats.password", "password without user; add user:")
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
		k.Fault("nats."+ways[1], "%s together; want one way to log in", strings.Join(ways, " and "))
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		k.Fault("nats.tls", "tls with one of cert and key; want both, or neither")
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

// LoadNATS is [Load] for who only wants to know where NATS is: whatever else is
// wrong with the configuration, or not set here, is passed over.
func LoadNATS(path string) (bus.Config, error) {
	l := open(path, Extensions{})
	if l.root == nil || l.lost {
		return bus.Config{}, l.Err()
	}
	nats := &yamldoc.Node{Kind: yamldoc.Mapping, At: l.root.At}
	if f := l.root.Get("nats"); f != nil {
		if f.Value.Damaged() {
			return bus.Config{}, l.Err()
		}
		nats.Fields = []yamldoc.Field{*f}
	}
	c := new(Config)
	k := &checker{Decoder: yamldoc.NewDecoder(&yamldoc.Problems{Files: l.Files}), c: c}
	k.Decode(nats, reflect.ValueOf(c).Elem(), "")
	k.checkNATS()
	if err := k.Err(); err != nil {
		return bus.Config{}, err
	}
	k.setDefaults()
	c.resolvePaths(l.folder)
	return c.NATS, nil
}
