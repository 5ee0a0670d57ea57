package host

import (
	"agenthost/agents"
	"agenthost/config"
)

// shadowing is the configuration of an agent with the bindings of the one that
// it shadows.
func shadowing(a agents.Config, cfg *config.Config) agents.Config {
	for _, other := range cfg.Agents {
		if a.ShadowOf != "" && other.ID == a.ShadowOf {
			a.Channels = other.Channels
		}
	}
	return a
}
