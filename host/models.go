package host

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"agenthost/llm"
	"agenthost/llm/anthropic"
	"agenthost/llm/echo"
	"agenthost/llm/gemini"
	"agenthost/llm/openai"
	"agenthost/llm/scripted"
)

// providers is the one table of provider names to their constructors.
var providers = map[string]func(llm.Config) (llm.Provider, error){
	"echo":      func(llm.Config) (llm.Provider, error) { return echo.New(), nil },
	"scripted":  func(c llm.Config) (llm.Provider, error) { return scripted.Load(c.Script) },
	"anthropic": func(c llm.Config) (llm.Provider, error) { return anthropic.New(c, nil) },
	"openai":    func(c llm.Config) (llm.Provider, error) { return openai.New(c, nil) },
	"gemini":    func(c llm.Config) (llm.Provider, error) { return gemini.New(c, nil) },
}

// models are the configured models by name.
type models map[string]model

type model struct {
	cfg    llm.Config
	link   llm.Link
	window int
	fault  error // why it cannot be used
}

// buildModels makes the models of a configuration. One that is as before keeps
// what was learnt about it.
func (h *Host) buildModels(cfg map[string]llm.Config) models {
	var have models
	if now := h.now.Load(); now != nil {
		have = now.models
	}
	built := models{}
	for name, c := range cfg {
		if m, ok := have[name]; ok && reflect.DeepEqual(m.cfg, c) {
			built[name] = m
			continue
		}
		info, priced := c.Known()
		m := model{cfg: c, window: info.Window, link: llm.Link{
			Name: c.Provider, Model: c.Model, Gate: llm.NewGate(name, c.Rate), Refresh: h.refresher(name, c), MaxTokens: c.MaxTokens,
			Timeouts: timeouts(c), Hedge: c.Hedge,
		}}
		if priced {
			m.link.Price = &info.Price
		}
		if m.link.Provider, m.fault = h.buildProvider(c); m.fault != nil {
			m.fault = fmt.Errorf("model %q: %w", name, m.fault)
			m.link.Provider = broken{m.fault}
		}
		built[name] = m
	}
	return built
}

// timeouts are those of a model. One that answers within this process has only
// what is set.
func timeouts(c llm.Config) llm.Timeouts {
	if c.Provider == "echo" || c.Provider == "scripted" {
		return c.Timeouts
	}
	return c.Timeouts.OrDefault()
}

// buildProvider makes the provider of a model, or a pool of one for each server.
func buildProvider(c llm.Config) (llm.Provider, error) { return pooled(c, buildServer) }

func pooled(c llm.Config, build ProviderFunc) (llm.Provider, error) {
	servers := c.Servers()
	if len(servers) == 1 {
		return build(servers[0])
	}
	list := make([]llm.Provider, len(servers))
	for i, one := range servers {
		p, err := build(one)
		if err != nil {
			return nil, err
		}
		list[i] = p
	}
	return llm.NewPool(list...), nil
}

func buildServer(c llm.Config) (llm.Provider, error) {
	construct, ok := providers[c.Provider]
	if !ok {
		return nil, fmt.Errorf("provider %q is not in this version; anthropic, echo, gemini, openai and scripted are", c.Provider)
	}
	return construct(c)
}

// broken stands for a model that cannot be used. In a chain the next one takes
// over; alone it gives each message a visible answer.
type broken struct{ err error }

func (b broken) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Code: llm.CodeProviderUnavailable, Err: b.err})
	}
}

// A lineup is what the models of an agent make together.
type lineup struct {
	chain  *llm.Chain
	window int     // the smallest of them
	faults []error // of those that cannot be used
}

func (m models) lineup(names []string) lineup {
	l := lineup{chain: &llm.Chain{}}
	for _, name := range names {
		one := m[name]
		l.chain.Links = append(l.chain.Links, one.link)
		if one.window > 0 && (l.window == 0 || one.window < l.window) {
			l.window = one.window
		}
		if one.fault != nil {
			l.faults = append(l.faults, one.fault)
		}
	}
	return l
}

// usable reports whether one of the models at least can be used.
func (l lineup) usable() bool { return len(l.faults) < len(l.chain.Links) }

// refusing is the lineup of an agent that must not answer: each message gets err
// in place of an answer.
func (l lineup) refusing(err error) lineup {
	refuses := *l.chain
	refuses.Links = []llm.Link{{Name: "none", Model: "none", Provider: broken{err}}}
	l.chain = &refuses
	return l
}
