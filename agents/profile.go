package agents

import (
	"cmp"
	"sync/atomic"

	"agenthost/llm"
	"agenthost/run"
)

// A profile is what the runs of an agent go by: its settings, and what they
// stand for. It does not change, but for what it measures. A run keeps the one
// it began with up to its next turn, so that no call of a model sees half of
// another.
type profile struct {
	cfg    Config
	chain  *llm.Chain
	tools  *Toolbox
	bounds run.Limits

	overhead atomic.Int64 // of the last request
}

func newProfile(cfg Config, chain *llm.Chain, window int, box *Toolbox) *profile {
	p := &profile{
		cfg: cfg, chain: chain, tools: box,
		bounds: run.Limits{
			ModelCalls: cfg.Limits.ModelCalls, Tools: cfg.Limits.Tools,
			Safe:   box.safe,
			Window: cmp.Or(window, DefaultWindow), Strict: window > 0,
		},
	}
	p.overhead.Store(int64(overhead(llm.Request{System: cfg.Instructions})))
	return p
}

// limits bound a run, with what the tools of the agent cost its prompts by now.
func (p *profile) limits() run.Limits {
	lim := p.bounds
	lim.Overhead = int(p.overhead.Load())
	return lim
}

// now is the profile that the next turn goes by.
func (r *Runtime) now() *profile { return r.profile.Load() }
