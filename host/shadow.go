package host

import "agenthost/agents"

// shadowing is the configuration of an agent with the bindings of the one that
// it shadows.
func (h *Host) shadowing(a agents.Config) agents.Config {
	for _, other := range h.opt.Config.Agents {
		if a.ShadowOf != "" && other.ID == a.ShadowOf {
			a.Channels = other.Channels
		}
	}
	return a
}
