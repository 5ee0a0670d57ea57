package host

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/hooks"
	"agenthost/internal/build"
	"agenthost/llm"
	"agenthost/plugins/settings"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"
)

func TestPlan(t *testing.T) {
	hook := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.guard"}
	other := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.other"}
	agent := func(id string) config.Agent { return config.Agent{Config: agents.Config{ID: id}} }
	tests := map[string]struct {
		old, now config.Config
		changes  []string
		restart  []string
		wakers   bool
	}{
		"nothing": {
			old: config.Config{Agents: []config.Agent{agent("ana")}, Hooks: []hooks.Config{hook}},
			now: config.Config{Agents: []config.Agent{agent("ana")}, Hooks: []hooks.Config{hook}},
		},
		"agents": {
			old: config.Config{Agents: []config.Agent{agent("ana"), agent("bob"), agent("eve")}},
			now: config.Config{Agents: []config.Agent{
				agent("kate"), agent("ana"), {Config: agents.Config{ID: "bob", Instructions: "Be brief."}},
			}},
			changes: []string{"agent bob: changed", "agent eve: removed", "agent kate: added"},
		},
		"models": {
			old: config.Config{Models: map[string]llm.Config{"a": {Provider: "echo"}, "b": {Provider: "echo"}, "c": {Provider: "echo"}}},
			now: config.Config{Models: map[string]llm.Config{
				"a": {Provider: "echo", Price: &llm.Price{Input: 1}}, "b": {Provider: "echo"}, "d": {Provider: "echo"},
			}},
			changes: []string{"model a: changed", "model c: removed", "model d: added"},
		},
		"tools": {
			old:     config.Config{MCP: map[string]tools.MCPConfig{"files": {Command: []string{"x"}}}, Fetch: tools.FetchConfig{AllowPrivate: []string{"a"}}},
			now:     config.Config{MCP: map[string]tools.MCPConfig{"files": {Command: []string{"y"}}}, Services: map[string]tools.ServiceConfig{"bills": {}}},
			changes: []string{"mcp files: changed", "service bills: added", "fetch: changed"},
		},
		"hooks": {
			old:     config.Config{Hooks: []hooks.Config{hook, hook, other}},
			now:     config.Config{Hooks: []hooks.Config{other, hook}},
			changes: []string{"hooks: changed"},
		},
		"heartbeat": {
			old:     config.Config{Agents: []config.Agent{agent("ana")}},
			now:     config.Config{Agents: []config.Agent{{Config: agents.Config{ID: "ana"}, Heartbeat: heartbeat.Config{Enabled: true, Interval: time.Second}}}},
			changes: []string{"agent ana: changed"},
			wakers:  true,
		},
		"agent with a schedule is gone": {
			old:     config.Config{Agents: []config.Agent{{Config: agents.Config{ID: "ana"}, Schedules: []heartbeat.Schedule{{Name: "tea"}}}}},
			now:     config.Config{},
			changes: []string{"agent ana: removed"},
			wakers:  true,
		},
		"the chat page comes": {
			now:     config.Config{Plugins: settings.Plugins{Web: &settings.Web{}}},
			changes: []string{"plugins web: added"},
		},
		"the chat page changes": {
			old:     config.Config{Plugins: settings.Plugins{Web: &settings.Web{}}},
			now:     config.Config{Plugins: settings.Plugins{Web: &settings.Web{MaxFile: 1}}},
			changes: []string{"plugins web: changed"},
		},
		"the chat page goes": {
			old:     config.Config{Plugins: settings.Plugins{Web: &settings.Web{}}},
			changes: []string{"plugins web: removed"},
		},
		"what needs a restart": {
			old:     config.Config{NATS: bus.Config{Lanes: 4}, HTTP: config.HTTP{Listen: "a:1"}},
			now:     config.Config{NATS: bus.Config{Lanes: 8, URL: "nats://x"}, HTTP: config.HTTP{Listen: "b:1"}},
			restart: []string{"nats.url", "nats.lanes", "http.listen"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := planOf(testTable(), &tt.old, &tt.now)
			if diff := cmp.Diff(tt.changes, p.words(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes: %s", diff)
			}
			if diff := cmp.Diff(tt.restart, p.restart); diff != "" {
				t.Errorf("restart: %s", diff)
			}
			if wakers := wakesDiffer(&tt.old, &tt.now); wakers != tt.wakers {
				t.Errorf("got wakers %v, want %v", wakers, tt.wakers)
			}
		})
	}
}

// testTable is the table of parts of a host that does not run.
func testTable() []part {
	return (&assembly{wakers: &wakers{}}).table(build.NewRemoteHooks(nil, nil, zerolog.Nop()))
}

// A section of the configuration that no part claims would be ignored by a
// reload, without a word.
func TestEverySectionBelongsToAPart(t *testing.T) {
	claims := map[string]int{}
	for _, p := range testTable() {
		for _, section := range p.Sections() {
			claims[section]++
		}
	}
	for f := range reflect.TypeFor[config.Config]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "-" {
			continue
		}
		if claims[key] != 1 {
			t.Errorf("section %q of config.Config is claimed by %d parts, want 1: see the table in part.go", key, claims[key])
		}
		delete(claims, key)
	}
	for key := range claims {
		t.Errorf("a part claims %q, which is no section of config.Config", key)
	}
}
