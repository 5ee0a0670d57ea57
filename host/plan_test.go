package host

import (
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	hook := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.guard"}
	other := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.other"}
	agent := func(id string) config.Agent { return config.Agent{Config: agents.Config{ID: id}} }
	tests := map[string]struct {
		old, now config.Config
		changes  []string
		restart  []string
		off, on  int
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
			off:     1,
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
		"what needs a restart": {
			old:     config.Config{NATS: bus.Config{Lanes: 4}, HTTP: config.HTTP{Listen: "a:1"}},
			now:     config.Config{NATS: bus.Config{Lanes: 8, URL: "nats://x"}, HTTP: config.HTTP{Listen: "b:1"}},
			restart: []string{"nats.url", "nats.lanes", "http.listen"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := planOf(&tt.old, &tt.now)
			if diff := cmp.Diff(tt.changes, p.Changes); diff != "" {
				t.Errorf("changes: %s", diff)
			}
			if diff := cmp.Diff(tt.restart, p.Restart); diff != "" {
				t.Errorf("restart: %s", diff)
			}
			if len(p.hooksOff) != tt.off || len(p.hooksOn) != tt.on || p.wakers != tt.wakers {
				t.Errorf("got %d hooks off, %d on, wakers %v, want %d, %d, %v", len(p.hooksOff), len(p.hooksOn), p.wakers, tt.off, tt.on, tt.wakers)
			}
		})
	}
}
