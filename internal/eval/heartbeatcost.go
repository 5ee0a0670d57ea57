package eval

import (
	"cmp"
	"time"

	"agenthost/agents/engine"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/internal/build"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
)

// A HeartbeatCost is what the heartbeat of an agent would take on its first
// day, at most: what it watches may keep it from calling its model.
type HeartbeatCost struct {
	Agent    string  `json:"agent"`
	Enabled  bool    `json:"enabled"`
	Interval string  `json:"interval"`
	Watches  bool    `json:"watches"` // then most beats call no model
	Model    string  `json:"model"`
	Calls    int     `json:"calls"` // a day
	Input    int64   `json:"input"` // tokens a day
	Output   int64   `json:"output"`
	Priced   bool    `json:"priced"`
	Dollars  float64 `json:"dollars"` // a day; 0 when it is not priced
}

// Assumptions of the estimate.
const (
	answerTokens = 50  // of a heartbeat
	compactAt    = 0.8 // of the window
	keptTurns    = 8   // by a compaction
)

// HeartbeatCosts estimates what the heartbeats of a configuration would take,
// of all agents that have a prompt for theirs, switched on or not.
func HeartbeatCosts(cfg *config.Config) ([]HeartbeatCost, error) {
	registry, err := build.Described()
	if err != nil {
		return nil, err
	}
	list := []HeartbeatCost{}
	for _, a := range cfg.Agents {
		if a.Heartbeat.Prompt == "" {
			continue
		}
		model := ""
		if len(a.Model) > 0 {
			model = a.Model[0]
		}
		list = append(list, heartbeatCost(a, model, cfg.Models[model], grantedTokens(registry, a)))
	}
	return list, nil
}

// grantedTokens is what describing its tools takes, without those of MCP
// servers and services, which are known only when they are there.
func grantedTokens(registry *tools.Registry, a config.Agent) int {
	if len(a.Tools) == 0 {
		return 0
	}
	var words []llm.Part
	for _, t := range registry.For(tools.GrantOf(a.Tools...)) {
		words = append(words, llm.Part{Type: llm.Text, Text: t.Description, Name: t.Name, Args: t.Schema})
	}
	return run.Estimate([]llm.Message{{Parts: words}})
}

func heartbeatCost(a config.Agent, name string, model llm.Config, described int) HeartbeatCost {
	interval := cmp.Or(a.Heartbeat.Interval, heartbeat.DefaultInterval)
	c := HeartbeatCost{
		Agent: a.ID, Enabled: a.Heartbeat.Enabled, Interval: interval.String(), Watches: len(a.Heartbeat.Watch) > 0,
		Model: name, Calls: int(24 * time.Hour / interval),
	}
	prompt := run.Estimate([]llm.Message{llm.UserText(a.Heartbeat.Prompt)})
	base := run.Estimate([]llm.Message{llm.UserText(a.Instructions)}) + described + prompt
	known, priced := model.Known()
	window := cmp.Or(known.Window, engine.DefaultWindow)
	turn, history := prompt+answerTokens, 0
	for range c.Calls { // each beat reads those before it, up to a compaction
		c.Input += int64(base + history)
		if history += turn; float64(base+history) > compactAt*float64(window) {
			history = keptTurns * turn
		}
	}
	c.Output = int64(c.Calls) * answerTokens
	if priced {
		c.Priced = true
		c.Dollars = (float64(c.Input)*known.Price.Input + float64(c.Output)*known.Price.Output) / 1e6
	}
	return c
}
