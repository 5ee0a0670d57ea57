package build

import (
	"agenthost/config"
	"agenthost/tools"
)

// RunsCommands are the agents that may run commands.
func RunsCommands(cfg *config.Config) []config.Agent {
	var found []config.Agent
	for _, a := range cfg.Agents {
		if len(a.Tools) > 0 && tools.GrantOf(a.Tools...).Allows("run_command") {
			found = append(found, a)
		}
	}
	return found
}

// networkOf returns which agents' commands may use the network.
func networkOf(cfg *config.Config) func(agent string) bool {
	open := map[string]bool{}
	for _, a := range cfg.Agents {
		open[a.ID] = a.Sandbox.Network
	}
	return func(agent string) bool { return open[agent] }
}

// spaceOf returns what the workspaces of agents may take, in bytes.
func spaceOf(cfg *config.Config) func(agent string) int64 {
	limits := map[string]int64{}
	for _, a := range cfg.Agents {
		limits[a.ID] = int64(a.Limits.WithDefaults().WorkspaceMB) << 20
	}
	return func(agent string) int64 { return limits[agent] }
}
