package host

import (
	"errors"
	"fmt"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/llm"
)

// An agentFault is why an agent cannot do all it should; a quarantined one can
// only say that.
type agentFault struct {
	err         error
	quarantined bool
}

// kit is what an agent works with, and what is wrong with it.
func (h *Host) kit(now *setup, a config.Agent) (agents.Kit, agentFault) {
	shop, id := now.shop, a.ID // the closure below keeps the id, not all of a
	l := h.lineup(now.models, id, a.Model)
	box, err := h.toolbox(shop, a)
	fault := agentFault{quarantined: !l.usable() && a.Behavior == "" || box == nil}
	if box == nil { // without its policy it must not use anything, and without its schema not answer
		box = &agents.Toolbox{Registry: shop.registry, Validator: shop.validator}
		l = l.refusing(err)
	}
	faults := append(l.faults, err)
	for _, p := range a.SkillFaults {
		faults = append(faults, errors.New(p.String()))
	}
	kit := agents.Kit{Chain: l.chain, Window: l.window, Box: box, Models: func(names []string) (*llm.Chain, error) {
		for _, name := range names {
			if _, ok := now.models[name]; !ok {
				return nil, fmt.Errorf("there is no model %q; name one that is under models", name)
			}
		}
		return h.lineup(now.models, id, names).chain, nil
	}}
	bound := make([]agents.Kit, len(a.Channels))
	for i, b := range a.Channels {
		bound[i] = kit
		if len(b.Model) > 0 {
			l := h.lineup(now.models, id, b.Model)
			faults = append(faults, l.faults...)
			if err != nil {
				l = l.refusing(err)
			}
			bound[i].Chain, bound[i].Window = l.chain, l.window
		}
		if b.Tools != nil {
			bound[i].Box = shop.narrowed(box, a, b.Tools)
		}
	}
	kit.Bound = bound
	fault.err = errors.Join(faults...)
	return kit, fault
}

// lineup is the models of an agent, or of one of its bindings, at its service.
func (h *Host) lineup(all models, agent string, names []string) lineup {
	l := all.lineup(names)
	l.chain.Redact = h.secrets.redact
	l.chain.Observe = func(at llm.Attempt) {
		h.descriptors.note(at)
		h.metrics.Attempt(agent, at)
	}
	return l
}
