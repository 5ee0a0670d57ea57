package config

import (
	"slices"

	"agenthost/internal/yamldoc"
)

// Defaults are the settings of every agent that has none of its own.
type Defaults Agent

// Keys of an agent that [Defaults] cannot have.
var ownKeys = []string{"id", "shadow_of"}

// Keys that a shadow does not inherit: it is asked for nothing and starts nothing.
var notForShadows = []string{"channels", "events", "schedules", "delegates", "heartbeat"}

// Keys whose value is one thing, not a set of settings: an agent has its own or
// the default one, never a mixture.
var wholeKeys = []string{"output_schema"}

// applyDefaults merges `defaults:` into each agent of the tree. A value keeps
// the place where it stands in a file, for the problems that it may have.
func (l *loader) applyDefaults() {
	defaults, agents := l.root.Get("defaults"), l.root.Get("agents")
	if defaults == nil || agents == nil || defaults.Value.Kind != yamldoc.Mapping {
		return
	}
	for _, agent := range agents.Value.Items {
		if agent.Kind == yamldoc.Mapping {
			agent.Inherit(inherited(agent, defaults.Value.Fields), wholeKeys)
		}
	}
}

// inherited are the defaults that apply to an agent.
func inherited(agent *yamldoc.Node, defaults []yamldoc.Field) []yamldoc.Field {
	shadow := agent.Get("shadow_of") != nil
	var list []yamldoc.Field
	for _, f := range defaults {
		switch key := f.Key.Value; {
		case slices.Contains(ownKeys, key), shadow && slices.Contains(notForShadows, key):
		case key == "delegates":
			list = append(list, yamldoc.Field{Key: f.Key, Value: f.Value.Without(agent.Get("id"))})
		default:
			list = append(list, f)
		}
	}
	return list
}

// checkDefaults checks what can be said of the defaults by themselves, whether or
// not an agent inherits it. The rest is checked in each agent that does: there
// settings that need each other are together.
func (k *checker) checkDefaults() {
	const at = "defaults"
	if !k.Set(at) {
		return
	}
	for _, key := range ownKeys {
		if path := yamldoc.Join(at, key); k.KeyNode(path) != nil {
			k.FaultKey(path, "%s belongs to one agent and cannot be a default; take it out", key)
		}
	}
	a := Agent(k.c.Defaults)
	k.checkModelNames(at+".model", a.Model)
	k.checkPeers(at, a)
	k.checkApprovers(at, a)
	k.checkPolicy(at, a)
	k.oneOf(at+".session.queue", string(a.Session.Queue), queues...)
	k.checkBudget(at+".limits.budget", a.Limits.Budget)
	k.checkZone(at+".timezone", a.Timezone)
}
