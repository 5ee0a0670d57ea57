package host

import (
	"context"
	"reflect"
	"strings"

	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/internal/build"
)

// fixed is a section that takes effect after a restart.
type fixed struct {
	section string
	of      func(*config.Config) any
}

func (f fixed) Sections() []string { return []string{f.section} }

func (f fixed) Diff(old, now *config.Config) []change {
	var list []change
	a, b := reflect.ValueOf(f.of(old)), reflect.ValueOf(f.of(now))
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			key, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
			list = append(list, change{kind: f.section, name: key, how: changed, restart: true})
		}
	}
	return list
}

func (f fixed) Apply(context.Context, *build.Setup) error { return nil }
func (f fixed) Run(context.Context) error                 { return nil }

// remoteHooks are the hooks that NATS programs answer.
type remoteHooks struct{ *build.RemoteHooks }

func (remoteHooks) Sections() []string { return []string{"hooks"} }

func (remoteHooks) Diff(old, now *config.Config) []change {
	if build.SameHooks(old.Hooks, now.Hooks) {
		return nil
	}
	return []change{{kind: "hooks", how: changed}}
}

func (r remoteHooks) Apply(_ context.Context, next *build.Setup) error {
	return r.Change(next.Config.Hooks)
}

func (remoteHooks) Run(context.Context) error { return nil }

// toolSources are the MCP servers, services and built-in tools.
type toolSources struct{ builder *build.Builder }

func (toolSources) Sections() []string { return []string{"mcp", "services", "fetch"} }

func (toolSources) Diff(old, now *config.Config) []change {
	list := append(entries("mcp", old.MCP, now.MCP), entries("service", old.Services, now.Services)...)
	if !reflect.DeepEqual(old.Fetch, now.Fetch) {
		list = append(list, change{kind: "fetch", how: changed})
	}
	return list
}

func (toolSources) Apply(_ context.Context, next *build.Setup) error {
	next.Tools.Use()
	return nil
}

func (t toolSources) Run(ctx context.Context) error { return t.builder.Run(ctx) }

// models are the configured models; the kits of the agents bring them along.
type models struct{}

func (models) Sections() []string { return []string{"models"} }

func (models) Diff(old, now *config.Config) []change {
	return entries("model", old.Models, now.Models)
}

func (models) Apply(context.Context, *build.Setup) error { return nil }
func (models) Run(context.Context) error                 { return nil }

// identities are the people with several accounts. A message is of the session that the
// configuration says when it comes.
type identities struct{ *assembly }

func (identities) Sections() []string { return []string{"identities"} }

func (identities) Diff(old, now *config.Config) []change {
	return entries("identity", old.Identities, now.Identities)
}

func (i identities) Apply(_ context.Context, next *build.Setup) error {
	i.identities.Set(next.Config.Identities)
	return nil
}

func (identities) Run(context.Context) error { return nil }

// runtimes are the agents. The fleet runs them: it outlives the order to stop.
type runtimes struct{ *assembly }

func (runtimes) Sections() []string { return []string{"agents", "defaults"} }

func (runtimes) Diff(old, now *config.Config) []change {
	return entries("agent", byID(old.Agents), byID(now.Agents))
}

func (r runtimes) Apply(ctx context.Context, next *build.Setup) error {
	r.now.Store(next)
	r.sayTools(next)
	r.shared.Peers.Set(build.Peers(next.Config))
	return r.change(ctx, next)
}

// change has the fleet serve the agents of a setup. Each of them gets a new kit:
// also one that is configured as before may see other agents, models and tools.
func (r runtimes) change(ctx context.Context, next *build.Setup) error {
	var list []*engine.Runtime
	var changes []func()
	for _, a := range next.Agents {
		runtime := r.fleet.Runtime(a.ID)
		if runtime == nil {
			runtime = engine.New(a.Config, next.Kits[a.ID], r.shared)
		} else {
			changes = append(changes, func() { runtime.Change(a.Config, next.Kits[a.ID]) })
		}
		list = append(list, runtime)
	}
	return r.fleet.Change(ctx, list, changes)
}

func (runtimes) Run(context.Context) error { return nil }
