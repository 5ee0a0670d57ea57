package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/agents"
	"agenthost/config"
)

func agent(t *testing.T, c *config.Config, id string) config.Agent {
	t.Helper()
	for _, a := range c.Agents {
		if a.ID == id {
			return a
		}
	}
	t.Fatalf("there is no agent %q", id)
	return config.Agent{}
}

func TestDefaultsAreMergedKeyByKey(t *testing.T) {
	c := parse(t, `
models: {main: {provider: echo}, small: {provider: echo}}
defaults:
  model: main
  tools: [now, remind]
  permissions: {remind: deny, now: allow}
  limits: {run_timeout: 5m, budget: {day: 5, run: 1}}
  output_schema: {type: object, required: [a]}
agents:
  - id: ana
    limits: {budget: {day: 20}}
    permissions: {remind: ask}
    tools: [now]
  - id: ops
    model: [small]
    tools: []
    limits:
    output_schema: {type: string}
`)
	ana, ops := agent(t, c, "ana"), agent(t, c, "ops")
	limits := agents.Limits{RunTimeout: 5 * time.Minute, Budget: agents.Budget{Day: 20, Run: 1}}
	if diff := cmp.Diff(limits, ana.Limits); diff != "" {
		t.Errorf("limits of ana (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"remind": "ask", "now": "allow"}, ana.Permissions); diff != "" {
		t.Errorf("permissions of ana (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"now"}, ana.Tools); diff != "" {
		t.Errorf("tools of ana (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(agents.Names{"main"}, ana.Model); diff != "" {
		t.Errorf("model of ana (-want +got):\n%s", diff)
	}
	if len(ops.Tools) != 0 || ops.Model[0] != "small" {
		t.Errorf("ops has the tools %q and the models %q, want its own", ops.Tools, ops.Model)
	}
	limits.Budget.Day = 5
	if diff := cmp.Diff(limits, ops.Limits); diff != "" {
		t.Errorf("limits of ops, whose key is empty (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"type": "string"}, ops.OutputSchema); diff != "" {
		t.Errorf("output_schema of ops (-want +got):\n%s", diff)
	}
}

func TestDefaultsInAFolder(t *testing.T) {
	folder := write(t, map[string]string{
		"agenthost.yaml":    "models: {m: {provider: echo}}\n",
		"agents/ana.md":     "---\ntools: [now]\n---\n",
		"agents/bob.md":     "You are Bob.\n",
		"agents.d/all.yaml": "defaults: {instructions: Be kind., tools: [remind], delegates: [ana, bob]}\n",
		"agents.d/ops.yaml": "agents: [{id: ops, delegates: [ops2]}, {id: ops2, shadow_of: ana}]\n",
	})
	_, err := config.Load(folder)
	if err == nil || !strings.Contains(err.Error(), "ops2") {
		t.Errorf("an own delegate that is a shadow: got error %v", err)
	}
	ops := filepath.Join(folder, "agents.d", "ops.yaml")
	if err := os.WriteFile(ops, []byte("agents: [{id: ops}, {id: ops2, shadow_of: ana}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	type settings struct {
		Instructions     string
		Tools, Delegates []string
	}
	want := map[string]settings{
		"ana":  {"Be kind.", []string{"now"}, []string{"bob"}},
		"bob":  {"You are Bob.", []string{"remind"}, []string{"ana"}},
		"ops":  {"Be kind.", []string{"remind"}, []string{"ana", "bob"}},
		"ops2": {"Be kind.", []string{"remind"}, nil},
	}
	got := map[string]settings{}
	for _, a := range c.Agents {
		got[a.ID] = settings{a.Instructions, a.Tools, a.Delegates}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

func TestProblemsOfDefaultsAreAtTheirLine(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"an unknown key": {
			"defaults:\n  limts: {run_timeout: 5m}\n",
			[]string{`agenthost.yaml:2:3: unknown key "limts"; did you mean "limits"?`},
		},
		"an unknown key below": {
			"defaults:\n  limits: {run_timeot: 5m}\nagents: [{id: a}, {id: b}]\n",
			[]string{`agenthost.yaml:2:12: unknown key "run_timeot"; did you mean "run_timeout"?`},
		},
		"a bad value, once for all agents": {
			"defaults: {limits: {run_timeout: 5}}\nagents: [{id: a}, {id: b}]\n",
			[]string{`agenthost.yaml:1:34: run_timeout: want a duration with its unit, such as 30s or 10m, got "5"`},
		},
		"a model that nothing has, although each agent has its own": {
			"defaults: {model: zebra}\nagents: [{id: a, model: m}]\n",
			[]string{`agenthost.yaml:1:19: there is no model "zebra" in models; want m`},
		},
		"a peer that nothing has": {
			"agents: [{id: a}, {id: b, delegates: [a]}]\ndefaults: {delegates: [c]}\n",
			[]string{`agenthost.yaml:2:24: there is no agent "c"; did you mean "a"?`},
		},
		"what belongs to one agent": {
			"defaults: {id: x, shadow_of: a}\nagents: [{id: a}]\n",
			[]string{
				"agenthost.yaml:1:12: id belongs to one agent and cannot be a default; take it out",
				"agenthost.yaml:1:19: shadow_of belongs to one agent and cannot be a default; take it out",
			},
		},
		"no mapping": {
			"defaults: [a]\nagents: [{id: a}]\n",
			[]string{"agenthost.yaml:1:11: defaults: want keys and values, got a list"},
		},
		"a setting of another kind in the agent": {
			"defaults: {limits: {run_timeout: 5m}}\nagents: [{id: a, limits: 3}]\n",
			[]string{"agenthost.yaml:2:26: limits: want keys and values, got a single value"},
		},
		"what needs another setting, in the agent that lacks it": {
			"defaults: {heartbeat: {watch: [a.b]}}\nagents: [{id: a}, {id: b, heartbeat: {prompt: x}}]\n",
			[]string{"agenthost.yaml:1:23: the heartbeat has no prompt; add prompt:, or take out watch and to"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("agenthost.yaml", []byte("models: {m: {provider: echo}}\n"+tt.text))
			if diff := cmp.Diff(tt.want, shifted(err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// shifted are the problems of an error, with the lines counted from the second.
func shifted(err error) []string {
	all, ok := errors.AsType[*config.FileError](err)
	if !ok {
		return nil
	}
	texts := make([]string, len(all.Problems))
	for i, p := range all.Problems {
		p.Line--
		texts[i] = p.String()
	}
	return texts
}

func TestDefaultsOfTwoFilesAreAnError(t *testing.T) {
	folder := write(t, map[string]string{
		"agents.d/a.yaml": "models: {m: {provider: echo}}\ndefaults: {model: m}\n",
		"agents.d/b.yaml": "defaults: {tools: [now]}\n",
	})
	_, err := config.Load(folder)
	if err == nil || !strings.Contains(err.Error(), `b.yaml:1:1: "defaults" is in `) {
		t.Errorf("got error %v", err)
	}
}
