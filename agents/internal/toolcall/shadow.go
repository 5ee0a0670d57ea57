package toolcall

import (
	"agenthost/agents/internal/profile"
	"agenthost/run"
	"agenthost/tools"
)

// harmless reports whether a shadow may use a tool. That one may run again under
// its call id is not enough: what the other agent did has another id.
func harmless(tool tools.Tool) bool { return tool.ReadOnly && !tool.Keeps }

// spared is the result of a call that a shadow does not make.
func spared() run.Signal { return run.Signal{Result: profile.NotRun, Source: run.FromDenial} }
