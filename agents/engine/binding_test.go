package engine

import (
	"testing"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
)

func TestTakes(t *testing.T) {
	t.Parallel()
	r := &Runtime{id: "ana", agent: &inflight.Agent{}}
	cfg := agents.Config{
		Channels: []agents.Binding{{Channel: "web"}, {Channel: "tg", Instance: "sales"}, {Channel: "irc", Instance: "*"}},
		Doors:    []string{bus.DoorMCP},
	}
	r.agent.Profile.Store(&profile.Profile{Config: cfg, Bindings: cfg.Bindings()})
	tests := map[string]bool{
		"plugin.inbound.web": true, "plugin.inbound.web.x": false, "plugin.inbound.tg": false,
		"plugin.inbound.tg.sales": true, "plugin.inbound.tg.other": false, "plugin.inbound.irc": false,
		"plugin.inbound.irc.any": true, "plugin.inbound.irc.any.more": false, "agent.route.ana": true,
		"agent.route.anna": false, "plugin.inbound.mcp": true, "plugin.inbound.mcp.ci": true, "plugin.inbound.openai": false,
	}
	for subject, want := range tests {
		if _, got := r.takes(subject); got != want {
			t.Errorf("takes(%s) = %t, want %t", subject, got, want)
		}
	}
}
