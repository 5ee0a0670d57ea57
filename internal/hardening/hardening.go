// Package hardening compares a setup with what docs/security.md recommends.
package hardening

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/tools"
)

// Advice is a recommendation that a setup does not follow.
type Advice struct{ About, Text, Cure string }

// Review returns what the setup of cfg lacks on a machine that others, by name,
// use as well.
func Review(cfg *config.Config, others []string) []Advice {
	r := review{cfg: cfg, others: others}
	if cfg.NATS.External() {
		r.shared()
	} else {
		r.embedded()
	}
	r.http()
	r.data(cmp.Or(cfg.NATS.Embedded.Store, config.DefaultStore))
	return r.list
}

type review struct {
	cfg    *config.Config
	others []string
	list   []Advice
}

func (r *review) advise(about, cure, format string, args ...any) {
	r.list = append(r.list, Advice{about, fmt.Sprintf(format, args...), cure})
}

// embedded looks at who reaches the server in the host, and as what.
func (r *review) embedded() {
	const key, cure = "nats.embedded.anonymous", `set nats.embedded.anonymous to "none"`
	e := r.cfg.NATS.Embedded
	if e.Address() == "" || e.Anonymous == bus.AnonymousNone || e.Config != "" { // a file of its own says who may what
		return
	}
	if e.Anonymous == bus.AnonymousAll {
		r.advise(key, "take it out, or "+cure, "every program of this machine may read all sessions and give the host orders")
		return
	}
	if len(r.others) > 0 {
		r.advise(key, cure, "other users of this machine (%s) can write as any person of any channel", strings.Join(r.others, ", "))
	}
	if list := r.networked(); len(list) > 0 {
		r.advise(key, cure, "commands of %s use the network, and so can write as any person of any channel", strings.Join(list, ", "))
	}
}

// networked are the agents whose commands use the network.
func (r *review) networked() []string {
	var list []string
	for _, a := range r.cfg.Agents {
		if a.Sandbox.Network && len(a.Tools) > 0 && tools.GrantOf(a.Tools...).Allows(tools.CommandTool) {
			list = append(list, a.ID)
		}
	}
	return list
}

// http checks who may read the status and metrics of the host.
func (r *review) http() {
	const key, cure = "http.token", "set http.token"
	if r.cfg.HTTP.Listen == "" || r.cfg.HTTP.Token != "" || len(r.cfg.HTTP.Tokens) > 0 {
		return
	}
	if len(r.others) > 0 {
		r.advise(key, cure, "other users of this machine (%s) can read %s", strings.Join(r.others, ", "), r.cfg.HTTP.Listen)
	}
	if list := r.networked(); len(list) > 0 {
		r.advise(key, cure, "commands of %s use the network, and so can read %s", strings.Join(list, ", "), r.cfg.HTTP.Listen)
	}
}

// shared looks at a NATS that is not the host's own.
func (r *review) shared() {
	c := r.cfg.NATS
	if c.Context != "" { // the context says it, which is known to NATS only
		return
	}
	far, plain, named := remote(c.URL)
	named = named || c.User != "" || c.Creds != "" || c.NKey != "" || c.Token != "" || c.TLS.Cert != ""
	if far && plain && c.TLS == (bus.TLS{}) {
		r.advise("nats.url", "write tls:// there, or set nats.tls", "everything that is said goes to another machine without encryption")
	}
	switch {
	case !named && (far || len(r.others) > 0):
		r.advise("nats.user", `give each client a user with what "agenthost nats-permissions" prints`, "the host connects without credentials, and so can others")
	case named && c.InboxPrefix == "":
		r.advise("nats.inbox_prefix", `set it as "agenthost nats-permissions --for host" prints it`, "other users of that NATS may read the answers that the host gets")
	}
}

// remote reports whether one of the servers of a list is another machine, whether
// the way to it is not encrypted, and whether it names who connects.
func remote(list string) (far, plain, named bool) {
	for server := range strings.SplitSeq(list, ",") {
		if server = strings.TrimSpace(server); !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil {
			continue
		}
		there := !bus.Loopback(u.Hostname()) && !net.ParseIP(u.Hostname()).IsUnspecified()
		far = far || there
		plain = plain || there && !slices.Contains([]string{"tls", "wss"}, u.Scheme)
		named = named || u.User != nil
	}
	return far, plain, named
}
