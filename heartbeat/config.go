// Package heartbeat will hold ticks, schedules and reminders. So far it holds
// their configuration only, so that a file written for them is checked.
package heartbeat

import "time"

// Config is the `heartbeat:` of an agent.
type Config struct {
	Enabled  bool          `yaml:"enabled,omitempty" json:"enabled,omitempty"`
	Interval time.Duration `yaml:"interval,omitempty" json:"interval,omitempty"` // default 30s
	Prompt   string        `yaml:"prompt,omitempty" json:"prompt,omitempty"`
}

// A Schedule is one entry of an agent's `schedules:`. Exactly one of Cron,
// Every and At is set.
type Schedule struct {
	Name     string        `yaml:"name" json:"name"`
	Cron     string        `yaml:"cron,omitempty" json:"cron,omitempty"`
	Every    time.Duration `yaml:"every,omitempty" json:"every,omitempty"`
	At       string        `yaml:"at,omitempty" json:"at,omitempty"`
	Timezone string        `yaml:"timezone,omitempty" json:"timezone,omitempty"`
	Prompt   string        `yaml:"prompt,omitempty" json:"prompt,omitempty"`
	To       Address       `yaml:"to,omitempty" json:"to,omitzero"`
}

// An Address is where a proactive message goes.
type Address struct {
	Channel  string `yaml:"channel" json:"channel"`
	Instance string `yaml:"instance,omitempty" json:"instance,omitempty"`
	To       string `yaml:"to,omitempty" json:"to,omitempty"`
	Chat     string `yaml:"chat,omitempty" json:"chat,omitempty"`
	Thread   string `yaml:"thread,omitempty" json:"thread,omitempty"`
}
