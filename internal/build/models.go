package build

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"agenthost/llm"
	"agenthost/llm/anthropic"
	"agenthost/llm/echo"
	"agenthost/llm/gemini"
	"agenthost/llm/openai"
	"agenthost/llm/scripted"
)

// A ProviderFunc makes the provider of one entry of models.
type ProviderFunc = func(llm.Config) (llm.Provider, error)

// providers is the one table of provider names to their constructors.
var providers = map[string]ProviderFunc{
	"echo":      func(llm.Config) (llm.Provider, error) { return echo.New(), nil },
	"scripted":  func(c llm.Config) (llm.Provider, error) { return scripted.Load(c.Script) },
	"anthropic": func(c llm.Config) (llm.Provider, error) { return anthropic.New(c, nil) },
	"openai":    func(c llm.Config) (llm.Provider, error) { return openai.New(c, nil) },
	"gemini":    func(c llm.Config) (llm.Provider, error) { return gemini.New(c, nil) },
}

// HasProvider reports whether the host itself has a provider of that name.
func HasProvider(name string) bool { return providers[name] != nil }

// Models are the configured models by name.
type Models map[string]Model

// A Model is a configured model.
type Model struct {
	Config llm.Config
	Link   llm.Link
	fault  error // why it cannot be used
	window int
}

// models makes the models of a configuration. One that is as before keeps what
// was learnt about it.
func (b *Builder) models(cfg map[string]llm.Config, before Models) Models {
	built := Models{}
	for name, c := range cfg {
		m, ok := before[name]
		if !ok || !reflect.DeepEqual(m.Config, c) {
			m = newModel(name, c, b.provider)
			m.Link.Refresh = b.refresher(name, c)
		}
		built[name] = m
	}
	return built
}

func newModel(name string, c llm.Config, provider ProviderFunc) Model {
	info, priced := c.Known()
	m := Model{Config: c, window: info.Window, Link: llm.Link{
		Name: c.Provider, Model: c.Model, Gate: llm.NewGate(name, c.Rate), MaxTokens: c.MaxTokens, Timeouts: timeouts(c), Hedge: c.Hedge,
	}}
	if c.Provider == "gemini" {
		m.Link.Reads = gemini.Reads
	}
	if priced {
		m.Link.Price = &info.Price
	}
	if m.Link.Provider, m.fault = provider(c); m.fault != nil {
		m.fault = fmt.Errorf("model %q: %w", name, m.fault)
		m.Link.Provider = broken{m.fault}
	}
	return m
}

// Chain is a chain of one configured model, without a key that is read again.
func Chain(name string, c llm.Config) (*llm.Chain, error) {
	m := newModel(name, c, Provider)
	return Models{name: m}.lineup([]string{name}).chain, m.fault
}

// Gates are those of all models, by name.
func (m Models) Gates() []*llm.Gate {
	var list []*llm.Gate
	for _, name := range sortedKeys(m) {
		list = append(list, m[name].Link.Gate)
	}
	return list
}

// timeouts are those of a model. One that answers within this process has only
// what is set.
func timeouts(c llm.Config) llm.Timeouts {
	if c.Provider == "echo" || c.Provider == "scripted" {
		return c.Timeouts
	}
	return c.Timeouts.OrDefault()
}

// Provider makes the provider of a model, or a pool of one for each server.
func Provider(c llm.Config) (llm.Provider, error) { return pooled(c, Server) }

// provider is the function Provider for a program that may have the provider.
func (b *Builder) provider(c llm.Config) (llm.Provider, error) {
	construct := b.opt.Providers[c.Provider]
	if construct == nil {
		return Provider(c)
	}
	return pooled(c, func(c llm.Config) (p llm.Provider, err error) {
		defer func() {
			if v := recover(); v != nil {
				p, err = nil, fmt.Errorf("provider %q: panic: %v", c.Provider, v)
			}
		}()
		if p, err = construct(c); err == nil && p == nil {
			err = fmt.Errorf("provider %q: its function made none", c.Provider)
		}
		return p, err
	})
}

func pooled(c llm.Config, construct ProviderFunc) (llm.Provider, error) {
	servers := c.Servers()
	if len(servers) == 1 {
		return construct(servers[0])
	}
	list := make([]llm.Provider, len(servers))
	for i, one := range servers {
		p, err := construct(one)
		if err != nil {
			return nil, err
		}
		list[i] = p
	}
	return llm.NewPool(list...), nil
}

// Server makes the provider of a model on one server.
func Server(c llm.Config) (llm.Provider, error) {
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

func (m Models) lineup(names []string) lineup {
	l := lineup{chain: &llm.Chain{}}
	for _, name := range names {
		one := m[name]
		l.chain.Links = append(l.chain.Links, one.Link)
		if one.window > 0 && (l.window == 0 || one.window < l.window) {
			l.window = one.window
		}
		if one.fault != nil {
			l.faults = append(l.faults, one.fault)
		}
	}
	return l
}

// Chain is the models of these names, as runs ask them.
func (m Models) Chain(names []string) (*llm.Chain, error) {
	for _, name := range names {
		if _, ok := m[name]; !ok {
			return nil, fmt.Errorf("no model %q; there is %s", name, strings.Join(sortedKeys(m), ", "))
		}
	}
	return m.lineup(names).chain, nil
}
