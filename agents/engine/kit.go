package engine

import (
	"agenthost/agents"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
)

// Options are what a host gives its agents.
type Options = parts.Options

// Parts are what the agents of a host share.
type Parts = parts.Parts

// NewParts makes what agents share of what their host gives.
func NewParts(opt Options) *Parts { return parts.New(opt) }

// Served is what the hosts of a fleet serve.
type Served = lanes.Served

// A Kit is what a configuration stands for: what an agent, or one of its bindings, works
// with.
type Kit = profile.Kit

// A Toolbox is what an agent may use, and how freely.
type Toolbox = profile.Toolbox

// An Awaiter is a source of tools that may still be on its way.
type Awaiter = profile.Awaiter

// Peers list the agents that there are, for those that hand work to others.
type Peers = profile.Peers

// A Peer is an agent as others see it.
type Peer = profile.Peer

// A Prompt is what an agent's model is sent besides the conversation.
type Prompt = profile.Prompt

// DefaultWindow is the window of a model that does not say its own.
const DefaultWindow = profile.DefaultWindow

// Measure is what each call of an agent's model begins with, with the tools of box that
// are known now, for a binding without words of its own.
func Measure(cfg agents.Config, box *Toolbox, peers *Peers) Prompt {
	return profile.Measure(cfg, box, peers)
}

// ErrNoPerson means that the question of a tool reaches no person.
var ErrNoPerson = liveask.ErrNoPerson
