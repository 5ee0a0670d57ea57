package host_test

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/host"
)

// What cannot be checked is not said, whatever the agent is made of.
func TestAgentWithFaultyOutputSchemaAnswersWithAnError(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	typo := map[string]any{"type": "objekt"}
	cfg.Agents[0].OutputSchema = typo
	bound := cfg.Agents[0]
	bound.ID, bound.Channels = "bound", []agents.Binding{{Channel: "bound", Model: cfg.Agents[0].Model}}
	made := bound
	made.ID, made.Channels, made.Behavior = "made", []agents.Binding{{Channel: "made"}}, "parrot"
	cfg.Agents = append(cfg.Agents, bound, made)
	h := startWith(t, host.Options{Config: cfg, Behaviors: map[string]agents.Factory{
		"parrot": func(agents.Env) (agents.Behavior, error) { return parrot{}, nil },
	}})
	nc := h.Bus().NC
	for _, channel := range []string{"demo", "bound", "made"} {
		sub, err := nc.SubscribeSync("plugin.outbound." + channel)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, nc, "plugin.inbound."+channel, bus.Inbound{From: "ana", Text: `{"sum":3}`})
		if out := next(t, sub); out.Kind != bus.KindError || !out.Final || strings.Contains(out.Text, "sum") {
			t.Errorf("%s: got %+v", channel, out)
		}
	}
	for _, a := range hostStatus(t, h).Agents {
		if a.State != "quarantined" || !strings.HasPrefix(a.Reason, "output_schema: ") {
			t.Errorf("%s is %s: %s", a.ID, a.State, a.Reason)
		}
	}
}
