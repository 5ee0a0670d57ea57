package build

import (
	"slices"

	"agenthost/config"
)

// served are the agents of a configuration as they are served: a shadow has the
// bindings of the agent that it shadows.
func served(cfg *config.Config) []config.Agent {
	list := cfg.Agents
	for i, a := range cfg.Agents {
		if a.ShadowOf == "" {
			continue
		}
		if &list[0] == &cfg.Agents[0] { // a copy of all is dear where there are thousands
			list = slices.Clone(list)
		}
		for _, other := range cfg.Agents {
			if other.ID == a.ShadowOf {
				list[i].Channels, list[i].Doors = other.Channels, other.Doors
			}
		}
	}
	return list
}
