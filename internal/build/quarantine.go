package build

import (
	"context"

	"agenthost/agents"
	"agenthost/llm"
)

// A Fault is why an agent cannot do all that it should.
type Fault struct {
	Err         error
	Quarantined bool // it can only say that
}

// State is the fault in one word, as the status of an agent has it.
func (f Fault) State() string {
	if f.Quarantined {
		return "quarantined"
	}
	return "degraded"
}

// usable reports whether one of the models at least can be used.
func (l lineup) usable() bool { return len(l.faults) < len(l.chain.Links) }

// refusing is the lineup of an agent that must not answer: each message gets err
// in place of an answer.
func (l lineup) refusing(err error) lineup {
	refuses := *l.chain
	refuses.Links = []llm.Link{{Name: "none", Model: "none", Provider: broken{err}}}
	l.chain = &refuses
	return l
}

// unable stands for a behaviour that could not be made.
type unable struct {
	agents.Base
	err error
}

func (u unable) Decide(context.Context, agents.Turn) (agents.Answer, error) {
	return agents.Answer{}, u.err
}
