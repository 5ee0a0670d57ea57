package build

import (
	"errors"
	"fmt"

	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/llm"
)

// kit is what an agent works with, and its faults.
func (b *Builder) kit(s *Setup, a config.Agent) (engine.Kit, Fault) {
	shop, id := s.Tools, a.ID // the closure below keeps the id, not all of a
	l := b.lineup(s.Models, id, a.Model)
	box, err := shop.Toolbox(a)
	fault := Fault{Quarantined: !l.usable() && a.Behavior == "" || box == nil}
	if box == nil { // without its policy it must not use anything, and without its schema not answer
		box = &engine.Toolbox{Registry: shop.registry, Validator: shop.validator}
		l = l.refusing(err)
	}
	faults := append(l.faults, err)
	for _, p := range a.SkillFaults {
		faults = append(faults, errors.New(p.String()))
	}
	kit := engine.Kit{Chain: l.chain, Window: l.window, Box: box, Models: func(names []string) (*llm.Chain, error) {
		for _, name := range names {
			if _, ok := s.Models[name]; !ok {
				return nil, fmt.Errorf("there is no model %q; name one that is under models", name)
			}
		}
		return b.lineup(s.Models, id, names).chain, nil
	}}
	bound := make([]engine.Kit, len(a.Channels))
	for i, binding := range a.Channels {
		bound[i] = kit
		if len(binding.Model) > 0 {
			l := b.lineup(s.Models, id, binding.Model)
			faults = append(faults, l.faults...)
			if err != nil {
				l = l.refusing(err)
			}
			bound[i].Chain, bound[i].Window = l.chain, l.window
		}
		if binding.Tools != nil {
			bound[i].Box = shop.narrowed(box, a, binding.Tools)
		}
	}
	kit.Bound = bound
	fault.Err = errors.Join(faults...)
	return kit, fault
}

// lineup is the models of an agent, or of one of its bindings, at its service.
func (b *Builder) lineup(all Models, agent string, names []string) lineup {
	l := all.lineup(names)
	l.chain.Redact = b.secrets.Redact
	if b.opt.Observe != nil {
		l.chain.Observe = func(at llm.Attempt) { b.opt.Observe(agent, at) }
	}
	return l
}
