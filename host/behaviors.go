package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
)

// behavior makes the behaviour of an agent, nil for an agent without one. On an
// error what it returns tells so to everyone who speaks to the agent.
func (h *Host) behavior(b *bus.Bus, a config.Agent) (agents.Behavior, error) {
	if a.Behavior == "" {
		return nil, nil
	}
	made, err := h.makeBehavior(b, a)
	if err != nil {
		err = fmt.Errorf("behavior %q: %w", a.Behavior, err)
		return unable{err: err}, err
	}
	return made, nil
}

var errNoBehavior = errors.New("the factory made none")

func (h *Host) makeBehavior(b *bus.Bus, a config.Agent) (made agents.Behavior, err error) {
	factory := h.opt.Behaviors[a.Behavior]
	if factory == nil {
		factory = agents.Registered(a.Behavior)
	}
	if factory == nil {
		return nil, errors.New("this program has not registered it; " + h.knownBehaviors())
	}
	defer func() {
		if p := recover(); p != nil {
			made, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	made, err = factory(agents.Env{Config: a.Config, NC: b.NC, Log: h.log.With().Str("agent", a.ID).Logger()})
	if err == nil && made == nil {
		err = errNoBehavior
	}
	return made, err
}

// knownBehaviors says which there are.
func (h *Host) knownBehaviors() string {
	names := append(agents.RegisteredNames(), slices.Collect(maps.Keys(h.opt.Behaviors))...)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "it has registered none: behaviors are for Go programs that run a host (docs/behaviors.md)"
	}
	return "it has registered " + strings.Join(names, ", ")
}

// unable stands for a behaviour that there is not.
type unable struct {
	agents.Base
	err error
}

func (u unable) Decide(context.Context, agents.Turn) (agents.Answer, error) {
	return agents.Answer{}, u.err
}
