// Package profile holds what the runs of an agent go by: its settings with those of its
// bindings applied, its prompt, models and tools. A profile does not change; a change of
// the configuration makes a new one.
package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"agenthost/agents"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// A Profile is what the runs of an agent go by: its settings, and what they
// stand for. It does not change, but for what it measures. A run keeps the one
// it began with up to its next turn, so that no call of a model sees half of
// another.
type Profile struct {
	Config   agents.Config // as it holds for these runs
	Bindings []agents.Binding
	System   string // the whole system prompt
	Chain    *llm.Chain
	Models   func(names []string) (*llm.Chain, error)
	Tools    *Toolbox
	bounds   run.Limits
	Bound    []Bound
	canary   func() *Profile // of canaries; nil in those of bindings

	Behavior agents.Behavior // nil: the model alone
	Texts    texts.Book      // what the host says to people

	Overhead atomic.Int64 // of the last request
}

// New makes the profile of an agent, and those of its bindings. It is for the agents
// that peers name: with others of them, make it again.
func New(cfg agents.Config, kit Kit, peers *Peers) *Profile {
	cfg.Limits = cfg.Limits.WithDefaults()
	p := oneProfile(cfg, kit, agents.Binding{}, peers)
	p.Behavior = kit.Behavior
	for i, b := range cfg.Channels {
		if b.Overrides() {
			one := oneProfile(boundBy(cfg, b), kit.Bound[i], b, peers)
			one.Behavior = kit.Behavior
			p.Bound = append(p.Bound, Bound{b.Subject(), one})
		}
	}
	p.canary = sync.OnceValue(func() *Profile { return newCanary(cfg, p) })
	return p
}

func oneProfile(cfg agents.Config, kit Kit, b agents.Binding, peers *Peers) *Profile {
	p := &Profile{
		Config: cfg, Bindings: cfg.Bindings(), Chain: kit.Chain, Models: kit.Models, Tools: kit.Box, System: system(cfg, b, kit.Box, peers),
		bounds: run.Limits{
			ModelCalls: cfg.Limits.ModelCalls, Tools: cfg.Limits.Tools,
			Safe:   kit.Box.safe,
			Window: cmp.Or(kit.Window, DefaultWindow), Strict: kit.Window > 0,
		},
		Texts: texts.New(cmp.Or(texts.Base(b.Language), cfg.Language), cfg.Texts),
	}
	p.bounds.Sentence = p.sentence
	if len(kit.Box.Output) == 0 { // what reads an answer in a format reads no mark
		p.bounds.Cut = p.Texts.Say("cut_short")
	}
	p.Overhead.Store(int64(Overhead(llm.Request{System: p.System})))
	return p
}

// Limits bound a run, with what the tools of the agent cost its prompts by now.
func (p *Profile) Limits() run.Limits {
	lim := p.bounds
	lim.Overhead = int(p.Overhead.Load())
	return lim
}

// sentence is what a person reads about a run that ended with code.
func (p *Profile) sentence(code llm.Code) string {
	if code == llm.CodeCancelled {
		return p.Texts.Say("stopped")
	}
	return p.Texts.Say(string(code))
}

// Chosen is the chain of the models that a hook names, one or a list, and their
// names.
func (p *Profile) Chosen(value json.RawMessage) (chain *llm.Chain, names []string, err error) {
	if json.Unmarshal(value, &names) != nil {
		var one string
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, nil, errors.New("want the name of a model, or a list of names")
		}
		names = []string{one}
	}
	if len(names) == 0 {
		return nil, nil, errors.New("no model: want the name of one, or a list of names")
	}
	chain, err = p.Models(names)
	return chain, names, err
}

// defaultQueueMax is that of session.Config.
const defaultQueueMax = 1000

// QueueMax is how many inputs of a session wait, and how many of a backlog one run takes.
func (p *Profile) QueueMax() int { return cmp.Or(p.Config.Session.QueueMax, defaultQueueMax) }
