package host

import (
	"os"
	"strings"

	"agenthost/config"
	"agenthost/internal/sandbox"
	"agenthost/tools"
)

// runsCommands are the agents that may run commands.
func runsCommands(cfg *config.Config) []config.Agent {
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

// saySandbox says what commands are held to, before one runs.
func (h *Host) saySandbox(cfg *config.Config) {
	agents := runsCommands(cfg)
	if len(agents) == 0 {
		return
	}
	p := sandbox.Check()
	if !p.Confined {
		h.log.Warn().Str("reason", p.Layers).Msg("sandbox commands: not confined; every command needs an approval")
	} else {
		h.log.Info().Str("layers", p.Layers).Msg("sandbox commands: confined")
	}
	if len(p.Open) > 0 {
		h.log.Warn().Strs("commands_can", p.Open).Msg("sandbox commands: the kernel leaves gaps")
	}
	if os.Geteuid() == 0 {
		h.log.Warn().Msg("sandbox commands: the host runs as root, and so do its commands; give it a user of its own")
	}
	for _, a := range agents {
		if a.Sandbox.Network {
			h.log.Info().Str("agent", a.ID).Msg("sandbox commands: this agent's may use the network")
		}
	}
}

// sandbox checks what commands are held to, where an agent may run them.
func (d *Doctor) sandbox(n *notes) {
	agents := runsCommands(d.Config)
	if len(agents) == 0 {
		return
	}
	o, p := n.on("tools", "run_command"), sandbox.Check()
	if !p.Confined {
		o.warn("see docs/security.md, or take the tool from the agents", "commands are not confined, so each needs an approval: %s", p.Layers)
	} else {
		o.ok("commands run in a sandbox (%s)", p.Layers)
	}
	if len(p.Open) > 0 {
		o.warn("allow namespaces; see docs/security.md", "here commands can %s", strings.Join(p.Open, ", "))
	}
	if os.Geteuid() == 0 {
		o.warn("run the host as a user of its own", "this user is root, and commands run as the user of the host")
	}
	for _, a := range agents {
		if a.Sandbox.Network {
			n.on("tools", a.ID).ok("its commands may use the network")
		}
	}
}
