package agents

import (
	"errors"
	"time"

	"agenthost/session"
)

// Config is one entry of `agents:`.
type Config struct {
	ID           string            `yaml:"id" json:"id"`
	Description  string            `yaml:"description,omitempty" json:"description,omitempty"`
	Model        Names             `yaml:"model,omitempty" json:"model,omitempty"` // a fallback chain, first to last
	Instructions string            `yaml:"instructions,omitempty" json:"instructions,omitempty"`
	Channels     []Binding         `yaml:"channels,omitempty" json:"channels,omitempty"`
	Tools        []string          `yaml:"tools,omitempty" json:"tools,omitempty"`
	Delegates    []string          `yaml:"delegates,omitempty" json:"delegates,omitempty"`
	Accepts      []string          `yaml:"accepts,omitempty" json:"accepts,omitempty"`
	Permissions  map[string]string `yaml:"permissions,omitempty" json:"permissions,omitempty"`
	Session      session.Config    `yaml:"session,omitempty" json:"session,omitzero"`
	Limits       Limits            `yaml:"limits,omitempty" json:"limits,omitzero"`
	OutputSchema map[string]any    `yaml:"output_schema,omitempty" json:"output_schema,omitempty"` // JSON Schema of every answer
	Partitions   int               `yaml:"partitions,omitempty" json:"partitions,omitempty"`
}

// A Binding is an agent's claim on a channel. In YAML a plain string is the
// channel alone.
type Binding struct {
	Channel  string        `yaml:"channel" json:"channel"`
	Instance string        `yaml:"instance,omitempty" json:"instance,omitempty"` // empty: the bare subject; "*": every instance
	Queue    session.Queue `yaml:"queue,omitempty" json:"queue,omitempty"`       // empty: the agent's
	Debounce time.Duration `yaml:"debounce,omitempty" json:"debounce,omitempty"` // collect: how long to wait for more
}

// UnmarshalText reads the short form.
func (b *Binding) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty channel")
	}
	*b = Binding{Channel: string(text)}
	return nil
}

// Names is a list that may be written as one plain string.
type Names []string

// UnmarshalText reads the short form.
func (n *Names) UnmarshalText(text []byte) error {
	*n = Names{string(text)}
	return nil
}

// Limits bound what one run, and all runs of an agent, may use.
type Limits struct {
	ModelCalls  int           `yaml:"model_calls,omitempty" json:"model_calls,omitempty"` // a run; default 64
	Concurrency int           `yaml:"concurrency,omitempty" json:"concurrency,omitempty"` // runs at once; default 64
	Tools       int           `yaml:"tools,omitempty" json:"tools,omitempty"`             // tools at once in a run; default 8
	RunTimeout  time.Duration `yaml:"run_timeout,omitempty" json:"run_timeout,omitempty"` // default 10m
	// ApprovalTimeout is how long an approval or a question waits for a person;
	// default 24h.
	ApprovalTimeout time.Duration `yaml:"approval_timeout,omitempty" json:"approval_timeout,omitempty"`
	Budget          Budget        `yaml:"budget,omitempty" json:"budget,omitzero"`
}

// A Budget is money in dollars per span, 0 for no limit.
type Budget struct {
	Run      float64 `yaml:"run,omitempty" json:"run,omitempty"`
	Session  float64 `yaml:"session,omitempty" json:"session,omitzero"`
	Day      float64 `yaml:"day,omitempty" json:"day,omitempty"`
	OnExceed string  `yaml:"on_exceed,omitempty" json:"on_exceed,omitempty"` // fail (default), ask, warn
}

// none reports whether b limits nothing.
func (b Budget) none() bool { return b.Run == 0 && b.Session == 0 && b.Day == 0 }
