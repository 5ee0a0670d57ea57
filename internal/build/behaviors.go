package build

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/config"
)

// A behavior is the behaviour of one agent.
type behavior struct {
	agents.Behavior
	agent config.Agent // what it was made for
	err   error
}

// behavior makes the behaviour of an agent, or keeps the one from before when
// the agent is as it was. One that cannot be made answers everyone with the error.
func (b *Builder) behavior(a config.Agent, before behavior) behavior {
	if before.Behavior != nil && before.err == nil && reflect.DeepEqual(before.agent, a) {
		return before
	}
	made, err := b.makeBehavior(a)
	if err != nil {
		err = fmt.Errorf("behavior %q: %w", a.Behavior, err)
		made = unable{err: err}
	}
	return behavior{made, a, err}
}

var errNoBehavior = errors.New("the factory made none")

func (b *Builder) makeBehavior(a config.Agent) (made agents.Behavior, err error) {
	factory := b.opt.Behaviors[a.Behavior]
	if factory == nil {
		factory = agents.Registered(a.Behavior)
	}
	if factory == nil {
		return nil, errors.New("this program has not registered it; " + b.knownBehaviors())
	}
	defer func() {
		if p := recover(); p != nil {
			made, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	made, err = factory(agents.Env{Config: a.Config, NC: b.opt.NC, Log: b.opt.Log.With().Str("agent", a.ID).Logger()})
	if err == nil && made == nil {
		err = errNoBehavior
	}
	return made, err
}

// knownBehaviors lists the registered ones.
func (b *Builder) knownBehaviors() string {
	names := append(agents.RegisteredNames(), slices.Collect(maps.Keys(b.opt.Behaviors))...)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "it has registered none: behaviors are for Go programs that run a host (docs/behaviors.md)"
	}
	return "it has registered " + strings.Join(names, ", ")
}
