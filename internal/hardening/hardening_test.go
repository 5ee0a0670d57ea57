package hardening_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/internal/hardening"
	"agenthost/tools"
)

func safe(t *testing.T) *config.Config {
	t.Helper()
	return &config.Config{
		NATS:   bus.Config{Embedded: bus.Embedded{Store: filepath.Join(t.TempDir(), "none")}},
		HTTP:   config.HTTP{Listen: "127.0.0.1:8080"},
		Agents: []config.Agent{{Config: agents.Config{ID: "ana", Tools: []string{"run_command"}}}},
	}
}

func TestReview(t *testing.T) {
	ann := []string{"ann"}
	network := func(c *config.Config) { c.Agents[0].Sandbox = tools.SandboxConfig{Network: true} }
	external := func(n bus.Config) func(*config.Config) { return func(c *config.Config) { c.NATS = n } }
	tests := map[string]struct {
		change func(*config.Config)
		others []string
		want   []string // the beginning of each advice, with what it is about
	}{
		"the defaults":        {nil, nil, nil},
		"others":              {nil, ann, []string{"nats.embedded.anonymous other users of this machine (ann) can write", "http.token other users of this machine (ann) can read 127.0.0.1:8080"}},
		"others, hardened":    {func(c *config.Config) { c.NATS.Embedded.Anonymous, c.HTTP.Token = "none", "x" }, ann, nil},
		"others, no ports":    {func(c *config.Config) { c.NATS.Embedded.Listen, c.HTTP.Listen = new(""), "" }, ann, nil},
		"everything for all":  {func(c *config.Config) { c.NATS.Embedded.Anonymous = "all" }, nil, []string{"nats.embedded.anonymous every program of this machine"}},
		"network":             {network, nil, []string{"nats.embedded.anonymous commands of ana use the network", "http.token commands of ana use the network"}},
		"network, no command": {func(c *config.Config) { network(c); c.Agents[0].Tools = []string{"now"} }, nil, nil},
		"a server of its own": {func(c *config.Config) { c.NATS.Embedded.Config = "nats.conf"; c.HTTP.Listen = "" }, ann, nil},
		"shared, plain":       {external(bus.Config{URL: "nats://10.0.0.5:4222"}), nil, []string{"nats.url everything that is said goes to another machine", "nats.user the host connects without credentials"}},
		"shared, TLS":         {external(bus.Config{URL: "tls://nats.example:4222", Creds: "x"}), nil, []string{"nats.inbox_prefix other users of that NATS"}},
		"shared, a CA":        {external(bus.Config{URL: "nats.example", User: "host", TLS: bus.TLS{CA: "ca.pem"}, InboxPrefix: "_INBOX_host"}), nil, nil},
		"shared, by address":  {external(bus.Config{URL: "tls://host:secret@nats.example", InboxPrefix: "_INBOX_host"}), nil, nil},
		"one of two is plain": {external(bus.Config{URL: "tls://a.example, nats://b.example", Token: "t", InboxPrefix: "_INBOX_host"}), nil, []string{"nats.url everything"}},
		"on this machine":     {external(bus.Config{URL: "nats://127.0.0.1:4222"}), nil, nil},
		"here, and others":    {external(bus.Config{URL: "nats://127.0.0.1:4222"}), ann, []string{"nats.user the host connects", "http.token other users"}},
		"by a context":        {external(bus.Config{Context: "prod"}), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := safe(t)
			if tt.change != nil {
				tt.change(cfg)
			}
			var got []string
			for _, a := range hardening.Review(cfg, tt.others) {
				got = append(got, a.About+" "+a.Text)
				if a.Cure == "" || strings.Contains(a.Text, "secret") {
					t.Errorf("got %+v", a)
				}
			}
			same := slices.EqualFunc(got, tt.want, strings.HasPrefix)
			if !same {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
