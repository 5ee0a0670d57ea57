package config

import "slices"

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
	defaults, agents := l.root.get("defaults"), l.root.get("agents")
	if defaults == nil || agents == nil || defaults.value.kind != mapping {
		return
	}
	for _, agent := range agents.value.items {
		if agent.kind == mapping {
			agent.inherit(inherited(agent, defaults.value.fields))
		}
	}
}

// inherited are the defaults that apply to an agent.
func inherited(agent *node, defaults []field) []field {
	shadow := agent.get("shadow_of") != nil
	var list []field
	for _, f := range defaults {
		switch key := f.key.value; {
		case slices.Contains(ownKeys, key), shadow && slices.Contains(notForShadows, key):
		case key == "delegates":
			list = append(list, field{f.key, f.value.without(agent.get("id"))})
		default:
			list = append(list, f)
		}
	}
	return list
}

// inherit adds the fields that a mapping does not have; in mappings that both
// have, likewise. The defaults themselves are shared by agents and stay as they are.
func (n *node) inherit(defaults []field) {
	for _, f := range defaults {
		own := n.get(f.key.value)
		switch {
		case own == nil:
			n.fields = append(n.fields, f)
		case own.value.null() && !own.value.broken:
			own.value = f.value
		case own.value.kind == mapping && f.value.kind == mapping && !slices.Contains(wholeKeys, f.key.value):
			own.value.inherit(f.value.fields)
		}
	}
}

// without is a list without the word that f holds: an agent does not delegate to itself.
func (n *node) without(f *field) *node {
	if n.kind != sequence || f == nil {
		return n
	}
	list := *n
	list.items = slices.DeleteFunc(slices.Clone(n.items), func(item *node) bool {
		return item.kind == scalar && item.value == f.value.value
	})
	return &list
}

// checkDefaults checks what can be said of the defaults by themselves, whether or
// not an agent inherits it. The rest is checked in each agent that does: there
// settings that need each other are together.
func (k *checker) checkDefaults() {
	const at = "defaults"
	if !k.set(at) {
		return
	}
	for _, key := range ownKeys {
		if path := join(at, key); k.keys[path] != nil {
			k.faultKey(path, "%s belongs to one agent and cannot be a default; take it out", key)
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
