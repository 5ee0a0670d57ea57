package profile

import (
	"agenthost/agents"
	"agenthost/llm"
)

// A Kit is what a configuration stands for: what an agent, or one of its
// bindings, works with.
type Kit struct {
	Chain  *llm.Chain // of the models that are named
	Window int        // the smallest among these; 0: not known
	Box    *Toolbox
	// Models makes a chain of other models, for a hook that chooses them; nil:
	// none may be chosen.
	Models func(names []string) (*llm.Chain, error)
	// Behavior is what the agent does; nil: the model alone. Bindings have none
	// of their own.
	Behavior agents.Behavior
	// Bound are the kits of the bindings that differ, by their place in
	// Config.Channels; of the others they are not looked at.
	Bound []Kit
}

// DefaultWindow is the window of a model that does not say its own.
const DefaultWindow = 128_000
