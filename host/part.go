package host

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/internal/build"
)

// A part of a host follows some sections of the configuration while it runs.
type part interface {
	// Sections are the keys of config.Config that the part follows.
	Sections() []string
	// Diff is what differs for the part between two configurations.
	Diff(old, now *config.Config) []change
	// Apply takes over what differs. With an error the part is as before, or has
	// taken over what it could.
	Apply(ctx context.Context, next *build.Setup) error
	// Run runs what the part needs all the time, until ctx ends.
	Run(ctx context.Context) error
}

// table is the one table of parts, in the order in which they take over another
// configuration: what guards messages, then what agents need, then agents, then
// what brings them messages and what wakes them. The first one that can fail refuses the configuration.
func (a *assembly) table(remote *build.RemoteHooks) []part {
	return []part{
		remoteHooks{remote},
		fixed{"http", func(c *config.Config) any { return c.HTTP }},
		fixed{"nats", func(c *config.Config) any { return c.NATS }},
		toolSources{a.builder},
		models{},
		runtimes{a},
		identities{a},
		a.newChannels(),
		a.newNATSDoor(),
		a.wakers,
	}
}

func runs(parts []part) []func(context.Context) error {
	var list []func(context.Context) error
	for _, p := range parts {
		list = append(list, p.Run)
	}
	return list
}

// A change is what became of an entry of the configuration.
type change struct {
	kind    string // such as agent
	name    string // of the entry; empty: the whole section
	how     string
	restart bool // it takes effect after a restart; then name is the key
}

// What becomes of an entry.
const (
	added   = "added"
	changed = "changed"
	removed = "removed"
)

// String is the change in words, such as "agent ana: added".
func (c change) String() string {
	switch {
	case c.restart:
		return c.kind + "." + c.name
	case c.name == "":
		return c.kind + ": " + c.how
	}
	return fmt.Sprintf("%s %s: %s", c.kind, c.name, c.how)
}

// A plan is what differs between two configurations.
type plan struct {
	changes []change // that take effect at once
	restart []string // keys that take effect after a restart
}

// planOf asks all parts. The last one of the table is listed first: agents matter
// most to people.
func planOf(parts []part, old, now *config.Config) plan {
	p := plan{}
	for _, one := range slices.Backward(parts) {
		for _, c := range one.Diff(old, now) {
			if c.restart {
				p.restart = append(p.restart, c.String())
			} else {
				p.changes = append(p.changes, c)
			}
		}
	}
	return p
}

func (p plan) words() []string {
	list := []string{}
	for _, c := range p.changes {
		list = append(list, c.String())
	}
	return list
}

// entries are those that differ, by name.
func entries[V any](kind string, old, now map[string]V) []change {
	var list []change
	for name, v := range now {
		if before, ok := old[name]; !ok {
			list = append(list, change{kind: kind, name: name, how: added})
		} else if !reflect.DeepEqual(before, v) {
			list = append(list, change{kind: kind, name: name, how: changed})
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			list = append(list, change{kind: kind, name: name, how: removed})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return list
}

func byID(list []config.Agent) map[string]config.Agent {
	m := make(map[string]config.Agent, len(list))
	for _, a := range list {
		m[a.ID] = a
	}
	return m
}
