package config

import (
	"fmt"
	"slices"

	"agenthost/internal/yamldoc"
)

// checkShadow checks an agent that shadows another, and that none is asked for
// anything.
func (k *checker) checkShadow(at string, a Agent) {
	for i, id := range a.Delegates {
		if k.shadows(id) {
			p := fmt.Sprintf("%s.delegates[%d]", at, i)
			k.Fault(p, "agent %s is a shadow; want one that answers", k.Quote(p))
		}
	}
	if a.ShadowOf == "" {
		return
	}
	p := at + ".shadow_of"
	switch {
	case a.ShadowOf == a.ID:
		k.Fault(p, "agent %s cannot shadow itself; want another agent", k.Quote(p))
	case k.ids != nil && !slices.Contains(k.ids, a.ShadowOf):
		k.Fault(p, "there is no agent %s; %s", k.Quote(p), yamldoc.Suggest(a.ShadowOf, k.ids))
	case k.shadows(a.ShadowOf):
		k.Fault(p, "agent %s is a shadow itself; want the agent that it shadows", k.Quote(p))
	}
	for _, key := range []string{"channels", "doors", "events", "schedules", "delegates"} {
		if k.Set(at + "." + key) {
			k.Fault(at+"."+key, "a shadow has no %s of its own; take this out", key)
		}
	}
	if a.Heartbeat.Enabled {
		k.Fault(at+".heartbeat", "a shadow has no heartbeat; take this out")
	}
	if a.Limits.Budget.OnExceed == "ask" {
		k.Fault(at+".limits.budget.on_exceed", "a shadow cannot ask a person; want fail or warn")
	}
}

func (k *checker) shadows(id string) bool {
	return slices.ContainsFunc(k.c.Agents, func(a Agent) bool { return a.ID == id && a.ShadowOf != "" })
}
