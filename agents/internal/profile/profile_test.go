package profile

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

// boxOf is a toolbox with the named tools, granted as globs say.
func boxOf(grant tools.Grant, names ...string) *Toolbox {
	var list tools.Static
	for _, name := range names {
		list = append(list, tools.Tool{Name: name, Description: "does " + name, Rerun: name == "again", Run: nothing})
	}
	return &Toolbox{Registry: tools.NewRegistry(list), Grant: grant, Validator: new(tools.Validator)}
}

func nothing(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// ofChannels is the profile of an agent with these bindings.
func ofChannels(cfg agents.Config, channels ...agents.Binding) *Profile {
	cfg.ID, cfg.Channels = "ana", channels
	kit := Kit{Chain: new(llm.Chain), Box: boxOf(tools.Grant{}), Bound: make([]Kit, len(channels))}
	for i := range kit.Bound {
		kit.Bound[i] = Kit{Chain: new(llm.Chain), Box: boxOf(tools.Grant{})}
	}
	return New(cfg, kit, new(Peers))
}

// A binding has its own prompt, model and language, and of limits only less.
func TestBindingsNarrow(t *testing.T) {
	t.Parallel()
	cfg := agents.Config{
		Model: agents.Names{"main"}, Instructions: "Be kind.", Language: "de",
		Limits: agents.Limits{ModelCalls: 10, Tools: 4, RunTimeout: time.Minute, Budget: agents.Budget{Run: 1, Day: 5}},
	}
	p := ofChannels(cfg,
		agents.Binding{Channel: "web"},
		agents.Binding{
			Channel: "telegram", Instance: "sales", Model: agents.Names{"small"}, Prompt: "Sell.", Language: "fr",
			Limits: agents.BindingLimits{ModelCalls: 3, Tools: 9, RunTimeout: time.Hour, Budget: agents.BindingBudget{Run: 2, Session: 3}},
		})
	if got := p.By("plugin.inbound.web"); got != p {
		t.Error("a binding that overrides nothing has a profile of its own")
	}
	bound := p.By("plugin.inbound.telegram.sales")
	if bound == p || p.By("plugin.inbound.telegram") != p {
		t.Fatal("the profile of a binding is not that of its subject alone")
	}
	want := cfg.Limits.WithDefaults()
	want.ModelCalls, want.Budget.Session = 3, 3
	if diff := cmp.Diff(want, bound.Config.Limits); diff != "" {
		t.Error("limits of the binding (-want +got):\n" + diff)
	}
	if diff := cmp.Diff(agents.Names{"small"}, bound.Config.Model); diff != "" {
		t.Error(diff)
	}
	if want := "Be kind.\n\nSell.\n\nAnswer in the language with the code fr, whatever language you are written to in."; bound.System != want {
		t.Errorf("got the prompt %q, want %q", bound.System, want)
	}
	if p.System != "Be kind." || p.Texts.Say("stopped") == bound.Texts.Say("stopped") {
		t.Errorf("the binding changed the agent: %q", p.System)
	}
}

func TestLess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ own, most, want int }{
		"neither": {0, 0, 0}, "only the binding": {3, 0, 3}, "only the agent": {0, 4, 4},
		"less": {3, 4, 3}, "more": {5, 4, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := less(tt.own, tt.most); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// A message is taken by the first binding of its channel and instance.
func TestBindingOfASubject(t *testing.T) {
	t.Parallel()
	p := ofChannels(agents.Config{}, agents.Binding{Channel: "web"}, agents.Binding{Channel: "telegram", Instance: "sales"}, agents.Binding{Channel: "telegram", Instance: "*"})
	for subject, want := range map[string]string{
		"plugin.inbound.web":             "plugin.inbound.web",
		"plugin.inbound.web.shop":        "",
		"plugin.inbound.telegram":        "",
		"plugin.inbound.telegram.sales":  "plugin.inbound.telegram.sales",
		"plugin.inbound.telegram.help":   "plugin.inbound.telegram.*",
		"plugin.inbound.telegram.a.b":    "",
		"plugin.inbound.discord":         "",
		"plugin.inbound.discord.general": "",
	} {
		got := ""
		if b := p.Binding(subject); b != nil {
			got = b.Subject()
		}
		if got != want {
			t.Errorf("%s: taken by %q, want %q", subject, got, want)
		}
	}
}

// All agents are bound to the doors that lead to them; their own routes are no binding.
func TestBindingOfADoor(t *testing.T) {
	t.Parallel()
	cfg := agents.Config{Channels: []agents.Binding{{Channel: "irc", Instance: "*"}}, Doors: []string{bus.DoorMCP}}
	p := &Profile{Config: cfg, Bindings: cfg.Bindings()}
	for subject, want := range map[string]bool{
		"plugin.inbound.irc": false, "plugin.inbound.irc.any": true, "plugin.inbound.irc.any.more": false,
		"plugin.inbound.mcp": true, "plugin.inbound.mcp.ci": true, "plugin.inbound.openai": false,
		"agent.route.ana": false, "agent.due.ana": false,
	} {
		if got := p.Binding(subject) != nil; got != want {
			t.Errorf("%s: taken %t, want %t", subject, got, want)
		}
	}
}

// A hook names one model or several; anything else is refused with what it wants.
func TestChosen(t *testing.T) {
	t.Parallel()
	p := ofChannels(agents.Config{})
	p.Models = func(names []string) (*llm.Chain, error) {
		if names[0] == "unknown" {
			return nil, errors.New("no model unknown")
		}
		return &llm.Chain{Links: make([]llm.Link, len(names))}, nil
	}
	tests := map[string]struct {
		value string
		links int
		fault string
	}{
		"one":     {value: `"main"`, links: 1},
		"several": {value: `["main","spare"]`, links: 2},
		"none":    {value: `[]`, fault: "no model: want"},
		"number":  {value: `7`, fault: "want the name of a model"},
		"unknown": {value: `"unknown"`, fault: "no model unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			chain, names, err := p.Chosen(json.RawMessage(tt.value))
			switch {
			case tt.fault != "":
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %q", err, tt.fault)
				}
			case err != nil || len(chain.Links) != tt.links || len(names) != tt.links:
				t.Errorf("got %v of %v, %v; want %d", chain, names, err, tt.links)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	const dollar = 100_000_000 // micro-cents
	tests := map[string]struct {
		budget agents.Budget
		want   budget.Limits
	}{
		"none":               {},
		"all":                {agents.Budget{Run: 1, Session: 2, Day: 3, Month: 4, PeerDay: 5}, budget.Limits{Run: dollar, Session: 2 * dollar, Day: 3 * dollar, Month: 4 * dollar, Peer: 5 * dollar}},
		"below a micro-cent": {agents.Budget{Run: 1e-12}, budget.Limits{Run: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := ofChannels(agents.Config{Limits: agents.Limits{Budget: tt.budget}})
			if diff := cmp.Diff(tt.want, p.Budget()); diff != "" {
				t.Error(diff)
			}
			if p.HasBudget() != (tt.want != budget.Limits{}) {
				t.Errorf("HasBudget is %v", p.HasBudget())
			}
		})
	}
	bound := agents.Binding{Channel: "web", Limits: agents.BindingLimits{Budget: agents.BindingBudget{Run: 1}}}
	if !ofChannels(agents.Config{}, bound).HasBudget() {
		t.Error("the budget of a binding is not seen")
	}
}

// Alerts come from the lowest share up; a shadow tells operators and asks no approvers.
func TestAlerts(t *testing.T) {
	t.Parallel()
	cfg := agents.Config{Approvers: []string{"web/ana"}, Limits: agents.Limits{Budget: agents.Budget{Day: 1, Alert: []float64{0.9, 0.5}}}}
	if got := ofChannels(cfg).Alerts(); !cmp.Equal(got.Shares, []float64{0.5, 0.9}) || !cmp.Equal(got.Approvers, cfg.Approvers) {
		t.Errorf("got %+v", got)
	}
	cfg.ShadowOf, cfg.Limits.Budget.Alert = "ben", nil
	if got := ofChannels(cfg).Alerts(); !cmp.Equal(got.Shares, agents.DefaultAlert()) || got.Approvers != nil {
		t.Errorf("of a shadow: got %+v", got)
	}
	cfg.Limits.Budget.Alert = []float64{}
	if got := ofChannels(cfg).Alerts(); len(got.Shares) != 0 {
		t.Errorf("no alerts are wanted: got %v", got.Shares)
	}
}

// A run is bounded by the profile, and by what its last request has measured.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := ofChannels(agents.Config{Limits: agents.Limits{ModelCalls: 5}, Instructions: strings.Repeat("abc", 10)})
	lim := p.Limits()
	if lim.ModelCalls != 5 || lim.Window != DefaultWindow || lim.Strict || lim.Overhead != 10 {
		t.Errorf("got %+v", lim)
	}
	if p.Overhead.Store(77); p.Limits().Overhead != 77 {
		t.Error("the measured overhead is not taken")
	}
	if lim.Cut == "" || lim.Sentence(llm.CodeCancelled) != p.Texts.Say("stopped") || lim.Sentence(llm.CodeRunTimeout) == "" {
		t.Error("a sentence is missing")
	}
	formatted := Kit{Chain: new(llm.Chain), Window: 100, Box: &Toolbox{Registry: tools.NewRegistry(), Output: json.RawMessage(`{}`)}}
	if lim := New(agents.Config{}, formatted, new(Peers)).Limits(); lim.Cut != "" || lim.Window != 100 || !lim.Strict {
		t.Errorf("of answers in a format: got %+v", lim)
	}
}
