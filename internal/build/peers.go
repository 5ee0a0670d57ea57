package build

import (
	"agenthost/agents/engine"
	"agenthost/config"
)

// Peers are the agents of a configuration as others see them.
func Peers(cfg *config.Config) []engine.Peer {
	var list []engine.Peer
	for _, a := range cfg.Agents {
		if a.ShadowOf != "" { // no agent can ask it
			continue
		}
		list = append(list, engine.Peer{ID: a.ID, Description: a.Description, Accepts: a.Accepts, Channels: a.Channels})
	}
	return list
}
