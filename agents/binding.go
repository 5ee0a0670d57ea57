package agents

import (
	"errors"
	"time"

	"agenthost/bus"
	"agenthost/session"
)

// A Binding is an agent's claim on a channel. In YAML a plain string is the
// channel alone.
type Binding struct {
	Channel  string        `yaml:"channel" json:"channel"`
	Instance string        `yaml:"instance,omitempty" json:"instance,omitempty"` // empty: the bare subject; "*": every instance
	Queue    session.Queue `yaml:"queue,omitempty" json:"queue,omitempty"`       // empty: the agent's
	Debounce time.Duration `yaml:"debounce,omitempty" json:"debounce,omitempty"` // collect: how long to wait for more
	// DebounceMax is how long the first waits at most, whatever still comes; default 5
	// times Debounce.
	DebounceMax time.Duration `yaml:"debounce_max,omitempty" json:"debounce_max,omitempty"`
	Stale       Stale         `yaml:"stale,omitempty" json:"stale,omitzero"`
	Senders     Senders       `yaml:"senders,omitempty" json:"senders,omitzero"` // who may write
	Rate        Rate          `yaml:"rate,omitempty" json:"rate,omitzero"`       // how much each of them

	// The rest is for the runs of this binding alone. Of tools and limits it
	// only takes away.
	Tools    []string      `yaml:"tools,omitempty" json:"tools,omitempty"`       // of the agent's; nil: all of them
	Model    Names         `yaml:"model,omitempty" json:"model,omitempty"`       // in place of the agent's
	Prompt   string        `yaml:"prompt,omitempty" json:"prompt,omitempty"`     // behind the instructions
	Language string        `yaml:"language,omitempty" json:"language,omitempty"` // of the answers, such as fr or pt-BR
	Limits   BindingLimits `yaml:"limits,omitempty" json:"limits,omitzero"`
}

// Overrides reports whether runs of the binding differ from others.
func (b Binding) Overrides() bool {
	return b.Tools != nil || len(b.Model) > 0 || b.Prompt != "" || b.Language != "" || b.Limits != BindingLimits{}
}

// UnmarshalText reads the short form.
func (b *Binding) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty channel")
	}
	*b = Binding{Channel: string(text)}
	return nil
}

// Subject is what the binding claims.
func (b Binding) Subject() string {
	if b.Instance == "" {
		return bus.InboundPrefix + b.Channel
	}
	return bus.InboundPrefix + b.Channel + "." + b.Instance
}

// BindingLimits bound the runs of a binding, where they are below those of its
// agent.
type BindingLimits struct {
	ModelCalls      int           `yaml:"model_calls,omitempty" json:"model_calls,omitempty"`
	Tools           int           `yaml:"tools,omitempty" json:"tools,omitempty"`
	RunTimeout      time.Duration `yaml:"run_timeout,omitempty" json:"run_timeout,omitempty"`
	ApprovalTimeout time.Duration `yaml:"approval_timeout,omitempty" json:"approval_timeout,omitempty"`
	Budget          BindingBudget `yaml:"budget,omitempty" json:"budget,omitzero"`
}

// A BindingBudget is what of a Budget a binding may have less of. The day's is
// for all runs of the agent together.
type BindingBudget struct {
	Run     float64 `yaml:"run,omitempty" json:"run,omitempty"`
	Session float64 `yaml:"session,omitempty" json:"session,omitempty"`
}

// Stale is the `stale:` of a binding: what becomes of a message that came while
// no host served the agent. The zero value answers every message.
type Stale struct {
	After time.Duration `yaml:"after,omitempty" json:"after,omitempty"`
	Do    string        `yaml:"do,omitempty" json:"do,omitempty"`
}

// What Stale.Do can be.
const (
	StaleAnswer    = "answer"
	StaleDrop      = "drop"
	StaleSummarise = "summarise"
)
