package agents

import (
	"cmp"
	"sync/atomic"

	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// A Kit is what a configuration stands for: what an agent, or one of its
// bindings, works with.
type Kit struct {
	Chain  *llm.Chain // of the models that are named
	Window int        // the smallest among these; 0: not known
	Box    *Toolbox
	// Models makes a chain of other models, for a hook that chooses them; nil:
	// none may be chosen.
	Models func(names []string) (*llm.Chain, error)
	// Behavior is what the agent does; nil: the model alone. Bindings have none
	// of their own.
	Behavior Behavior
	// Bound are the kits of the bindings that differ, by their place in
	// Config.Channels; of the others they are not looked at.
	Bound []Kit
}

// A profile is what the runs of an agent go by: its settings, and what they
// stand for. It does not change, but for what it measures. A run keeps the one
// it began with up to its next turn, so that no call of a model sees half of
// another.
type profile struct {
	cfg    Config // as it holds for these runs
	system string // the whole system prompt
	chain  *llm.Chain
	models func(names []string) (*llm.Chain, error)
	tools  *Toolbox
	bounds run.Limits
	bound  []bound

	behavior Behavior   // nil: the model alone
	texts    texts.Book // what the host says to people

	overhead atomic.Int64 // of the last request
}

// bound is what runs go by whose messages come by one binding.
type bound struct {
	subject string
	profile *profile
}

// newProfile makes the profile of an agent, and those of its bindings. It is
// for the agents that parts name: with others of them, make it anew.
func newProfile(cfg Config, kit Kit, parts *Parts) *profile {
	cfg.Limits = cfg.Limits.WithDefaults()
	p := oneProfile(cfg, kit, Binding{}, parts)
	p.behavior = kit.Behavior
	for i, b := range cfg.Channels {
		if b.Overrides() {
			one := oneProfile(cfg.boundBy(b), kit.Bound[i], b, parts)
			one.behavior = kit.Behavior
			p.bound = append(p.bound, bound{b.Subject(), one})
		}
	}
	return p
}

func oneProfile(cfg Config, kit Kit, b Binding, parts *Parts) *profile {
	p := &profile{
		cfg: cfg, chain: kit.Chain, models: kit.Models, tools: kit.Box, system: system(cfg, b, kit.Box, parts),
		bounds: run.Limits{
			ModelCalls: cfg.Limits.ModelCalls, Tools: cfg.Limits.Tools,
			Safe:   kit.Box.safe,
			Window: cmp.Or(kit.Window, DefaultWindow), Strict: kit.Window > 0,
		},
		texts: texts.New(cmp.Or(texts.Base(b.Language), cfg.Language), cfg.Texts),
	}
	p.bounds.Sentence = p.sentence
	if len(kit.Box.Output) == 0 { // what reads an answer in a format reads no mark
		p.bounds.Cut = p.texts.Say("cut_short")
	}
	p.overhead.Store(int64(overhead(llm.Request{System: p.system})))
	return p
}

// boundBy is c as it holds for the runs of b.
func (c Config) boundBy(b Binding) Config {
	if len(b.Model) > 0 {
		c.Model = b.Model
	}
	c.Limits = c.Limits.narrow(b.Limits)
	return c
}

// by is the profile of the runs whose messages come by subject.
func (p *profile) by(subject string) *profile {
	for _, b := range p.bound {
		if bus.Matches(b.subject, subject) {
			return b.profile
		}
	}
	return p
}

// limits bound a run, with what the tools of the agent cost its prompts by now.
func (p *profile) limits() run.Limits {
	lim := p.bounds
	lim.Overhead = int(p.overhead.Load())
	return lim
}

// now is the profile of the agent that the next turn goes by, or one of its
// bindings'.
func (r *Runtime) now() *profile { return r.profile.Load() }

// sentence is what a person reads about a run that ended with code.
func (p *profile) sentence(code llm.Code) string {
	if code == llm.CodeCancelled {
		return p.texts.Say("stopped")
	}
	return p.texts.Say(string(code))
}
