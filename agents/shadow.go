package agents

import (
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
)

// A shadow is an agent that gets what another gets and answers nobody. It has
// sessions of its own, in whose logs its replies are kept; it uses only tools
// that change nothing, asks nobody, and hands nothing on.

// notRun is what a model is told of a call that a shadow must not make.
const notRun = "not run: shadow"

func (r *Runtime) shadow() bool { return r.now().cfg.ShadowOf != "" }

// harmless reports whether a shadow may use a tool. That one may run again under
// its call id is not enough: what the other agent did has another id.
func harmless(tool tools.Tool) bool { return tool.ReadOnly && !tool.Keeps }

// spared is the result of a call that a shadow does not make.
func spared() run.Signal { return run.Signal{Result: notRun, Source: run.FromDenial} }

// ofShadow refuses a task for a shadow, whoever it is from.
func (r *Runtime) ofShadow() *run.Error {
	return &run.Error{Code: llm.CodeToolDenied, Message: r.id + " is a shadow of " + r.now().cfg.ShadowOf + " and takes no work."}
}
