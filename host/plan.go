package host

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/hooks"
)

// A plan is what differs between two configurations.
type plan struct {
	// Changes say it in words, such as "agent ana: added".
	Changes []string
	// Restart are the keys that take effect after a restart.
	Restart []string

	agents            map[string]string // what becomes of an agent that is not as before
	hooksOff, hooksOn []hooks.Config
	wakers            bool // heartbeats, schedules or events differ
}

// What becomes of an entry.
const (
	added   = "added"
	changed = "changed"
	removed = "removed"
)

// planOf compares a configuration with the one that counts now.
func planOf(old, now *config.Config) plan {
	p := plan{agents: map[string]string{}}
	p.Restart = append(differing("nats", old.NATS, now.NATS), differing("http", old.HTTP, now.HTTP)...)
	before, after := byID(old.Agents), byID(now.Agents)
	for _, d := range entries(before, after) {
		p.agents[d.name] = d.what
		p.Changes = append(p.Changes, fmt.Sprintf("agent %s: %s", d.name, d.what))
		if a, b := before[d.name], after[d.name]; !reflect.DeepEqual(a.Heartbeat, b.Heartbeat) ||
			!reflect.DeepEqual(a.Schedules, b.Schedules) || !reflect.DeepEqual(a.Events, b.Events) || a.Timezone != b.Timezone || d.what != changed && (wakes(a) || wakes(b)) {
			p.wakers = true
		}
	}
	note := func(what string, list []entry) {
		for _, d := range list {
			p.Changes = append(p.Changes, fmt.Sprintf("%s %s: %s", what, d.name, d.what))
		}
	}
	note("model", entries(old.Models, now.Models))
	note("mcp", entries(old.MCP, now.MCP))
	note("service", entries(old.Services, now.Services))
	if !reflect.DeepEqual(old.Fetch, now.Fetch) {
		p.Changes = append(p.Changes, "fetch: changed")
	}
	p.hooksOff, p.hooksOn = without(old.Hooks, now.Hooks), without(now.Hooks, old.Hooks)
	if len(p.hooksOff)+len(p.hooksOn) > 0 {
		p.Changes = append(p.Changes, "hooks: changed")
	}
	return p
}

func byID(list []config.Agent) map[string]config.Agent {
	m := make(map[string]config.Agent, len(list))
	for _, a := range list {
		m[a.ID] = a
	}
	return m
}

func wakes(a config.Agent) bool { return a.Heartbeat.Enabled || len(a.Schedules)+len(a.Events) > 0 }

type entry struct{ name, what string }

// entries are those that differ, by name.
func entries[V any](old, now map[string]V) []entry {
	var list []entry
	for name, v := range now {
		if before, ok := old[name]; !ok {
			list = append(list, entry{name, added})
		} else if !reflect.DeepEqual(before, v) {
			list = append(list, entry{name, changed})
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			list = append(list, entry{name, removed})
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}

// without are the hooks of list that other does not have, counted.
func without(list, other []hooks.Config) []hooks.Config {
	rest := slices.Clone(other)
	return slices.DeleteFunc(slices.Clone(list), func(h hooks.Config) bool {
		i := slices.IndexFunc(rest, h.Equal)
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
		return i >= 0
	})
}

// differing are the keys of a section whose values are not the same.
func differing(section string, old, now any) []string {
	var keys []string
	a, b := reflect.ValueOf(old), reflect.ValueOf(now)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			key, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
			keys = append(keys, section+"."+key)
		}
	}
	return keys
}
