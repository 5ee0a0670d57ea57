package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/config"

	"github.com/nats-io/nats.go"
)

// A behaving is a behaviour as one agent has it.
type behaving struct {
	agents.Behavior
	agent config.Agent // what it was made for
	err   error
}

// behavior makes the behaviour of an agent, or takes the one that it has if the
// agent is as before. On an error it tells so to everyone who speaks to the agent.
func (h *Host) behavior(nc *nats.Conn, a config.Agent) behaving {
	if now := h.now.Load(); now != nil {
		if b, ok := now.behaviors[a.ID]; ok && b.err == nil && reflect.DeepEqual(b.agent, a) {
			return b
		}
	}
	made, err := h.makeBehavior(nc, a)
	if err != nil {
		err = fmt.Errorf("behavior %q: %w", a.Behavior, err)
		made = unable{err: err}
	}
	return behaving{made, a, err}
}

var errNoBehavior = errors.New("the factory made none")

func (h *Host) makeBehavior(nc *nats.Conn, a config.Agent) (made agents.Behavior, err error) {
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
	made, err = factory(agents.Env{Config: a.Config, NC: nc, Log: h.log.With().Str("agent", a.ID).Logger()})
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
