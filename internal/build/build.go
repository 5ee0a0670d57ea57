// Package build makes of a configuration the parts that a host runs: models,
// tools, behaviours and the kits of agents. It starts nothing: a [Builder] keeps
// what lives longer than one configuration, and Run runs it.
//
// Without a connection to NATS the parts can be looked at, as doctor and the
// estimates do, and not used.
package build

import (
	"context"
	"errors"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/llm"
	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Options are what a Builder needs beside the configuration.
type Options struct {
	// Load reads the configuration again, for a key in place of one that a server
	// refuses. nil: keys stay as they are.
	Load      func() (*config.Config, error)
	Version   string                                               // of this client, for MCP servers
	Behaviors map[string]agents.Factory                            // go before those of agents.Register
	Tools     []tools.Tool                                         // of the program, beside those of the host
	Providers map[string]ProviderFunc                              // of the program, by the name of provider
	NC        *nats.Conn                                           // nil: what needs NATS cannot be used
	JS        jetstream.JetStream                                  // nil: the same
	Ask       mcp.Ask                                              // asks a person for an MCP server; nil: declines
	Introduce func(call tools.Call, server, message string) string // says whose question it is; nil: in English
	Observe   func(agent string, at llm.Attempt)
	Chats     func(key string) []string // of the person with whom the direct chat with that key is; nil: it alone
	Log       zerolog.Logger
}

// A Builder makes Setups. What the configurations have in common, such as a
// running MCP server or the breaker of a model, goes from one to the next.
type Builder struct {
	opt     Options
	secrets *Secrets
	sources *sources
}

// New makes the Builder of a host that starts with cfg.
func New(cfg *config.Config, opt Options) *Builder {
	b := &Builder{opt: opt, secrets: &Secrets{}}
	b.secrets.take(cfg)
	b.sources = b.newSources(cfg)
	return b
}

// Secrets are those of all configurations so far.
func (b *Builder) Secrets() *Secrets { return b.secrets }

// Run runs the sources of tools until ctx ends.
func (b *Builder) Run(ctx context.Context) error { return b.sources.run(ctx) }

// A Setup is a configuration and what was made of it. It does not change.
type Setup struct {
	Config *config.Config
	Agents []config.Agent // of Config, as they are served
	Models Models
	Tools  *Tools
	Kits   map[string]engine.Kit // by agent
	Faults map[string]Fault      // by agent

	behaviors map[string]behavior // by agent, with their faults
}

// Build makes the Setup of a configuration. What has not changed since before
// is taken from there; before is nil for the first one. The tool sources are
// those of the Setup once its Tools are put to use.
//
// A mistake of one agent is listed in Faults, and the others are served.
func (b *Builder) Build(cfg *config.Config, before *Setup) (*Setup, error) {
	if before == nil {
		before = &Setup{}
	}
	b.secrets.take(cfg)
	shop, err := b.Tools(cfg)
	if err != nil {
		return nil, err
	}
	s := &Setup{
		Config: cfg, Agents: served(cfg), Models: b.models(cfg.Models, before.Models), Tools: shop,
		Kits: map[string]engine.Kit{}, Faults: map[string]Fault{}, behaviors: map[string]behavior{},
	}
	for _, a := range s.Agents {
		b.equip(s, a, before.behaviors[a.ID])
	}
	return s, nil
}

// equip makes the kit of an agent, and its behaviour.
func (b *Builder) equip(s *Setup, a config.Agent, before behavior) {
	kit, fault := b.kit(s, a)
	if a.Behavior != "" {
		made := b.behavior(a, before)
		kit.Behavior, s.behaviors[a.ID] = made.Behavior, made
		if fault.Quarantined { // it must not act, whatever it is made of
			kit.Behavior = unable{err: fault.Err}
		}
		if made.err != nil {
			fault = Fault{Err: errors.Join(fault.Err, made.err), Quarantined: true}
		}
	}
	if s.Kits[a.ID] = kit; fault.Err != nil {
		s.Faults[a.ID] = fault
	}
}
