package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/tools"
	"agenthost/tools/builtin"
	"agenthost/tools/mcp"
	"agenthost/tools/memory"
	"agenthost/tools/service"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// workshop holds the tools of all sources.
type workshop struct {
	sources   []tools.Source
	registry  *tools.Registry
	builtin   *tools.Registry // without the sources that are connected to when they are needed
	validator *tools.Validator
	awaiting  map[string]agents.Awaiter // by the first word of the names of its tools
	reminders *heartbeat.Reminders
}

// sources are those of tools that live as long as the host, whatever comes and
// goes in the configuration.
type sources struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	validator *tools.Validator
	notes     *memory.Memory
	mcp       *mcp.Pool
	services  *service.Directory
}

func (h *Host) newSources(b *bus.Bus) *sources {
	return &sources{
		nc: b.NC, js: b.JS, notes: memory.New(b.JS, memory.Options{Log: h.log}),
		mcp:       mcp.NewPool(nil, mcp.Options{Log: h.log, Version: h.opt.Version, Ask: h.askPerson, Tokens: mcpTokens(h.opt.Config)}),
		services:  service.NewDirectory(b.NC, nil, service.Options{Log: h.log}),
		validator: &tools.Validator{},
	}
}

// newWorkshop is the one table of tool sources. apply makes the sources those
// of cfg; it is to be called before anybody uses the workshop.
func (h *Host) newWorkshop(cfg *config.Config, from *sources) (w *workshop, apply func(), err error) {
	store := cmp.Or(cfg.NATS.Embedded.Store, config.DefaultStore)
	keeps := reminders(cfg, from.js)
	own, err := builtin.New(builtin.Options{
		Workspace:    func(agent string) string { return filepath.Join(store, "workspaces", agent) },
		Network:      networkOf(cfg),
		Space:        spaceOf(cfg),
		AllowHosts:   cfg.Fetch.AllowHosts,
		AllowPrivate: cfg.Fetch.AllowPrivate, Log: h.log, Reminders: remindTool{keeps},
	})
	if err != nil {
		return nil, nil, err
	}
	w = &workshop{reminders: keeps, awaiting: map[string]agents.Awaiter{}, validator: from.validator}
	for _, name := range sortedKeys(cfg.MCP) {
		if _, twice := cfg.Services[name]; twice {
			return nil, nil, fmt.Errorf("mcp.%s and services.%s: both would have tools named %s.…; rename one", name, name, name)
		}
	}
	sources := []tools.Source{tools.Static(own), tools.Static(from.notes.Tools()), h.opt.ownTools()}
	w.builtin = tools.NewRegistry(sources...)
	clients, useClients := from.mcp.Change(cfg.MCP)
	for i, c := range clients {
		sources = append(sources, c)
		w.awaiting[sortedKeys(cfg.MCP)[i]] = c
	}
	services, useServices := from.services.Change(cfg.Services)
	for i, s := range services {
		sources = append(sources, s)
		w.awaiting[sortedKeys(cfg.Services)[i]] = s
	}
	w.sources, w.registry = sources, tools.NewRegistry(sources...)
	return w, func() { useClients(); useServices() }, w.builtin.Check()
}

// askPerson asks who is behind a call what an MCP server wants to know.
func (h *Host) askPerson(ctx context.Context, q mcp.Question) (string, error) {
	fleet := h.fleet.Load()
	if fleet == nil {
		return "", agents.ErrNobody
	}
	return fleet.Ask(ctx, q.Call, q.Prompt, q.Options)
}

// start runs the sources until the returned function is called.
func (s *sources) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{s.mcp.Run, s.services.Run, s.notes.Run} {
		group.Go(func() { _ = run(ctx) })
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// faults are what the sources lack, in words. The registry is not asked: a look
// at it would start the servers that nobody has needed yet.
func (w *workshop) faults() []string {
	var list []string
	for _, source := range w.sources {
		for _, f := range source.Faults() {
			list = append(list, f.Error())
		}
	}
	return list
}

// toolbox is what one agent may use of it.
func (h *Host) toolbox(w *workshop, a config.Agent) (*agents.Toolbox, error) {
	policy, err := tools.NewPolicy(a.Permissions)
	if err != nil {
		return nil, err
	}
	box := &agents.Toolbox{Registry: w.registry, Validator: w.validator, Policy: policy}
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
	box.Awaits = w.awaits(a.Tools)
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
func (w *workshop) narrowed(box *agents.Toolbox, a config.Agent, globs []string) *agents.Toolbox {
	own := *box
	own.Grant = box.Grant.Narrow(globs...)
	own.Awaits = w.awaits(a.Tools, globs)
	if !tools.GrantOf(globs...).Allows(tools.SkillTool) {
		own.Own, own.Skills = nil, nil
	}
	return &own
}

// awaits are the sources that may bring a tool which all of the lists grant.
func (w *workshop) awaits(lists ...[]string) []agents.Awaiter {
	var list []agents.Awaiter
	for _, name := range sortedKeys(w.awaiting) {
		missing := slices.ContainsFunc(lists, func(globs []string) bool {
			return !slices.ContainsFunc(globs, func(glob string) bool { return reaches(glob, name+".") })
		})
		if !missing {
			list = append(list, w.awaiting[name])
		}
	}
	return list
}

// mayCome reports whether a source that is connected to later may bring a tool
// that glob stands for.
func (w *workshop) mayCome(glob string) bool {
	for name := range w.awaiting {
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
