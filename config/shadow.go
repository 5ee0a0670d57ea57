package config

import (
	"fmt"
	"slices"
)

// checkShadow checks an agent that shadows another, and that none is asked for
// anything.
func (k *checker) checkShadow(at string, a Agent) {
	for i, id := range a.Delegates {
		if k.shadows(id) {
			p := fmt.Sprintf("%s.delegates[%d]", at, i)
			k.fault(p, "agent %s is a shadow; want one that answers", k.quote(p))
		}
	}
	if a.ShadowOf == "" {
		return
	}
	p := at + ".shadow_of"
	switch {
	case a.ShadowOf == a.ID:
		k.fault(p, "agent %s cannot shadow itself; want another agent", k.quote(p))
	case k.ids != nil && !slices.Contains(k.ids, a.ShadowOf):
		k.fault(p, "there is no agent %s; %s", k.quote(p), suggest(a.ShadowOf, k.ids))
	case k.shadows(a.ShadowOf):
		k.fault(p, "agent %s is a shadow itself; want the agent that it shadows", k.quote(p))
	}
	for _, key := range []string{"channels", "events", "schedules", "delegates"} {
		if k.set(at + "." + key) {
			k.fault(at+"."+key, "a shadow has no %s of its own; take this out", key)
		}
	}
	if a.Heartbeat.Enabled {
		k.fault(at+".heartbeat", "a shadow has no heartbeat; take this out")
	}
	if a.Limits.Budget.OnExceed == "ask" {
		k.fault(at+".limits.budget.on_exceed", "a shadow asks nobody; want fail or warn")
	}
}

func (k *checker) shadows(id string) bool {
	return slices.ContainsFunc(k.c.Agents, func(a Agent) bool { return a.ID == id && a.ShadowOf != "" })
}
