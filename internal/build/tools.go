package build

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/internal/texts"
	"agenthost/tools"
	"agenthost/tools/builtin"
	"agenthost/tools/mcp"
	"agenthost/tools/memory"
	"agenthost/tools/service"

	"github.com/rs/zerolog"
)

// Tools are the tools of all sources of a configuration.
type Tools struct {
	list      []tools.Source
	registry  *tools.Registry
	builtin   *tools.Registry // without the sources that are connected to when they are needed
	validator *tools.Validator
	awaiting  map[string]engine.Awaiter // by the first word of the names of its tools
	reminders *heartbeat.Reminders
	use       func()
}

// sources are those of tools that live as long as the host, whatever comes and
// goes in the configuration.
type sources struct {
	validator *tools.Validator
	notes     *memory.Memory
	mcp       *mcp.Pool
	services  *service.Directory
}

func (b *Builder) newSources(cfg *config.Config) *sources {
	return &sources{
		notes: memory.New(b.opt.JS, memory.Options{Chats: b.opt.Chats, Log: b.opt.Log}),
		mcp: mcp.NewPool(nil, mcp.Options{
			Log: b.opt.Log, Version: b.opt.Version, Ask: b.opt.Ask, Introduce: b.opt.Introduce, Tokens: TokenFolder(cfg),
		}),
		services:  service.NewDirectory(b.opt.NC, nil, service.Options{Log: b.opt.Log}),
		validator: &tools.Validator{},
	}
}

// run runs the sources until ctx ends.
func (s *sources) run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{s.mcp.Run, s.services.Run, s.notes.Run} {
		group.Go(func() { _ = run(ctx) }) // they end with ctx
	}
	group.Wait()
	return ctx.Err()
}

// Tools makes the tools of a configuration. It is the one table of tool sources.
func (b *Builder) Tools(cfg *config.Config) (*Tools, error) {
	keeps := reminders(cfg, b.opt.JS)
	own, err := b.builtin(cfg, keeps)
	if err != nil {
		return nil, err
	}
	w := &Tools{reminders: keeps, awaiting: map[string]engine.Awaiter{}, validator: b.sources.validator}
	for _, name := range sortedKeys(cfg.MCP) {
		if _, twice := cfg.Services[name]; twice {
			return nil, fmt.Errorf("mcp.%s and services.%s: both would have tools named %s.…; rename one", name, name, name)
		}
	}
	list := []tools.Source{tools.Static(own), tools.Static(b.sources.notes.Tools()), tools.Static(b.opt.Tools)}
	w.builtin = tools.NewRegistry(list...)
	clients, useClients := b.sources.mcp.Change(cfg.MCP)
	for i, c := range clients {
		list = append(list, c)
		w.awaiting[sortedKeys(cfg.MCP)[i]] = c
	}
	services, useServices := b.sources.services.Change(cfg.Services)
	for i, s := range services {
		list = append(list, s)
		w.awaiting[sortedKeys(cfg.Services)[i]] = s
	}
	w.list, w.registry = list, tools.NewRegistry(list...)
	w.use = func() { useClients(); useServices() }
	return w, w.builtin.Check()
}

// builtin are the tools that the host itself has.
func (b *Builder) builtin(cfg *config.Config, keeps *heartbeat.Reminders) ([]tools.Tool, error) {
	store := cmp.Or(cfg.NATS.Embedded.Store, config.DefaultStore)
	return builtin.New(builtin.Options{
		Workspace:    func(agent string) string { return filepath.Join(store, "workspaces", agent) },
		Network:      networkOf(cfg),
		Space:        spaceOf(cfg),
		AllowHosts:   cfg.Fetch.AllowHosts,
		AllowPrivate: cfg.Fetch.AllowPrivate, Log: b.opt.Log, Reminders: remindTool{keeps},
	})
}

// Use makes the running sources those of t. It comes before anything else uses
// the tools.
func (t *Tools) Use() { t.use() }

// Remind does what the chat command /remind says.
func (t *Tools) Remind(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string {
	return t.reminders.Command(ctx, book, id, by, chat, text)
}

// BuiltIn are the tools that need no connection.
func (t *Tools) BuiltIn() *tools.Registry { return t.builtin }

// Faults are what the sources lack, in words. The registry is not asked: a look
// at it would start the servers that nothing has needed yet.
func (t *Tools) Faults() []string {
	var list []string
	for _, source := range t.list {
		for _, f := range source.Faults() {
			list = append(list, f.Error())
		}
	}
	return list
}

// Unknown are the names of tools of an agent that no source has or may bring.
func (t *Tools) Unknown(a config.Agent) []string {
	return slices.DeleteFunc(t.builtin.Unmatched(a.Tools), func(glob string) bool {
		return t.mayCome(glob) || glob == tools.SkillTool && len(a.Found) > 0
	})
}

// Described are the built-in tools as models get them described; none can be
// called.
func Described() (*tools.Registry, error) {
	own, err := builtin.New(builtin.Options{Workspace: func(string) string { return "" }, Reminders: remindTool{}, Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(tools.Static(own)), nil
}

// Toolbox is what one agent may use.
func (t *Tools) Toolbox(a config.Agent) (*engine.Toolbox, error) {
	policy, err := tools.NewPolicy(a.Permissions)
	if err != nil {
		return nil, err
	}
	box := &engine.Toolbox{Registry: t.registry, Validator: t.validator, Policy: policy}
	if len(a.Tools) > 0 {
		box.Grant = tools.GrantOf(a.Tools...)
	}
	if a.OutputSchema != nil {
		if box.Output, err = json.Marshal(a.OutputSchema); err == nil {
			err = tools.CheckSchema(box.Output)
		}
		if err != nil {
			return nil, fmt.Errorf("output_schema: %w", err)
		}
	}
	box.Awaits = t.awaits(a.Tools)
	if len(a.Found) > 0 {
		tool, err := builtin.SkillTool(a.Found)
		if err != nil {
			return nil, fmt.Errorf("skills: %w", err)
		}
		box.Own, box.Skills = []tools.Tool{tool}, a.Found
	}
	return box, nil
}

// narrowed is the toolbox of a binding that has only some of the agent's tools.
func (t *Tools) narrowed(box *engine.Toolbox, a config.Agent, globs []string) *engine.Toolbox {
	own := *box
	own.Grant = box.Grant.Narrow(globs...)
	own.Awaits = t.awaits(a.Tools, globs)
	if !tools.GrantOf(globs...).Allows(tools.SkillTool) {
		own.Own, own.Skills = nil, nil
	}
	return &own
}

// awaits are the sources that may bring a tool which all of the lists grant.
func (t *Tools) awaits(lists ...[]string) []engine.Awaiter {
	var list []engine.Awaiter
	for _, name := range sortedKeys(t.awaiting) {
		missing := slices.ContainsFunc(lists, func(globs []string) bool {
			return !slices.ContainsFunc(globs, func(glob string) bool { return reaches(glob, name+".") })
		})
		if !missing {
			list = append(list, t.awaiting[name])
		}
	}
	return list
}

// mayCome reports whether a source that is connected to later may bring a tool
// that glob stands for.
func (t *Tools) mayCome(glob string) bool {
	for name := range t.awaiting {
		if reaches(glob, name+".") {
			return true
		}
	}
	return false
}

// reaches reports whether glob may stand for a name that begins with prefix.
func reaches(glob, prefix string) bool {
	fixed, _, open := strings.Cut(glob, "*")
	return strings.HasPrefix(fixed, prefix) || open && strings.HasPrefix(prefix, fixed)
}

// TokenFolder is the folder of the OAuth tokens for MCP servers.
func TokenFolder(cfg *config.Config) string {
	return filepath.Join(cmp.Or(cfg.NATS.Embedded.Store, config.DefaultStore), "mcp")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
