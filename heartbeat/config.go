package heartbeat

import (
	"strings"
	"time"

	"agenthost/bus"
)

// Config is the `heartbeat:` of an agent.
type Config struct {
	Enabled  bool          `yaml:"enabled,omitempty" json:"enabled,omitempty"`
	Interval time.Duration `yaml:"interval,omitempty" json:"interval,omitempty"` // default 30s
	// Prompt makes a run of each tick; empty: a tick only reports that the agent
	// is served.
	Prompt string  `yaml:"prompt,omitempty" json:"prompt,omitempty"`
	To     Address `yaml:"to,omitempty" json:"to,omitzero"`
	// Watch are subjects of streams: a tick makes a run only when something was
	// stored on one of them since the last.
	Watch []string `yaml:"watch,omitempty" json:"watch,omitempty"`
}

// DefaultInterval is the default of Config.Interval.
const DefaultInterval = 30 * time.Second

// A Schedule is one entry of an agent's `schedules:`.
type Schedule struct {
	Name   string `yaml:"name" json:"name"`
	Spec   `yaml:",inline"`
	Prompt string  `yaml:"prompt,omitempty" json:"prompt,omitempty"`
	To     Address `yaml:"to,omitempty" json:"to,omitzero"`
	// Missed is what becomes of firings while everything was down: MissedOnce
	// (default) or MissedSkip.
	Missed string `yaml:"missed,omitempty" json:"missed,omitempty"`
}

// What becomes of missed firings.
const (
	MissedOnce = "once" // they become one
	MissedSkip = "skip" // they are left out
)

// ReservedName reports whether a schedule cannot have that name, because its
// session or its subject is taken.
func ReservedName(name string) bool {
	return name == "heartbeat" || strings.HasPrefix(name, ReminderPrefix) || strings.HasPrefix(name, "wait-")
}

// An Address is where a proactive message goes.
type Address struct {
	Channel  string `yaml:"channel" json:"channel"`
	Instance string `yaml:"instance,omitempty" json:"instance,omitempty"`
	To       string `yaml:"to,omitempty" json:"to,omitempty"`
	Chat     string `yaml:"chat,omitempty" json:"chat,omitempty"`
	Thread   string `yaml:"thread,omitempty" json:"thread,omitempty"`
}

// origin is the address as a run of agent needs it; nil when there is none.
func (a Address) origin(agent string) *bus.Origin {
	if a.Channel == "" {
		return nil
	}
	subject := bus.OutboundPrefix + a.Channel
	if a.Instance != "" {
		subject += "." + a.Instance
	}
	return &bus.Origin{Agent: agent, Subject: subject, To: a.To, Chat: a.Chat, Thread: a.Thread}
}
