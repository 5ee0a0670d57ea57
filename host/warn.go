package host

import (
	"os"

	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/internal/sandbox"
)

// sayFaults logs what is wrong with single agents.
func (h *Host) sayFaults(now *build.Setup) {
	for _, a := range now.Config.Agents {
		if fault, ok := now.Faults[a.ID]; ok {
			h.log.Error().Str("agent", a.ID).Err(fault.Err).Bool("quarantined", fault.Quarantined).Msg("agent has a fault; the others are served")
		}
	}
}

// sayTools logs what people should know of the tools before they are used.
func (h *Host) sayTools(now *build.Setup) {
	for _, a := range now.Config.Agents {
		for _, glob := range now.Tools.Unknown(a) {
			h.log.Warn().Str("agent", a.ID).Str("tool", glob).Msg("there is no such tool; it is left out")
		}
	}
	h.saySandbox(now.Config)
}

// saySandbox logs what commands are held to, before one runs.
func (h *Host) saySandbox(cfg *config.Config) {
	agents := build.RunsCommands(cfg)
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
