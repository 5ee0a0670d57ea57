package agents

import (
	"errors"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/session"
	"agenthost/tools"
)

// Config is one entry of `agents:`.
type Config struct {
	ID           string `yaml:"id,omitempty" json:"id,omitempty"` // none: of the defaults of all agents
	Description  string `yaml:"description,omitempty" json:"description,omitempty"`
	Model        Names  `yaml:"model,omitempty" json:"model,omitempty"`       // a fallback chain, first to last
	Behavior     string `yaml:"behavior,omitempty" json:"behavior,omitempty"` // one that the program has registered
	Instructions string `yaml:"instructions,omitempty" json:"instructions,omitempty"`
	// InstructionFiles are texts below the folder of the configuration; what they
	// say has been added to Instructions when the configuration is loaded.
	InstructionFiles []string  `yaml:"instruction_files,omitempty" json:"instruction_files,omitempty"`
	Skills           []string  `yaml:"skills,omitempty" json:"skills,omitempty"` // names or globs of folders in skills/
	Channels         []Binding `yaml:"channels,omitempty" json:"channels,omitempty"`
	Doors            []string  `yaml:"doors,omitempty" json:"doors,omitempty"`         // by which programs reach it; nil: all of bus.Doors
	ShadowOf         string    `yaml:"shadow_of,omitempty" json:"shadow_of,omitempty"` // see shadow.go
	Tools            []string  `yaml:"tools,omitempty" json:"tools,omitempty"`
	Delegates        []string  `yaml:"delegates,omitempty" json:"delegates,omitempty"`
	Accepts          []string  `yaml:"accepts,omitempty" json:"accepts,omitempty"`
	// Approvers are who may approve what the agent asks, from whichever chat, each as
	// <channel>[.<instance>]/<from>; none: the chat that was asked.
	Approvers []string `yaml:"approvers,omitempty" json:"approvers,omitempty"`
	// Notify is NotifyApprovers when each of them hears of each approval in their own chat.
	Notify       string              `yaml:"notify,omitempty" json:"notify,omitempty"`
	Permissions  map[string]string   `yaml:"permissions,omitempty" json:"permissions,omitempty"`
	Sandbox      tools.SandboxConfig `yaml:"sandbox,omitempty" json:"sandbox,omitzero"` // of its commands
	Session      session.Config      `yaml:"session,omitempty" json:"session,omitzero"`
	Retention    Retention           `yaml:"retention,omitempty" json:"retention,omitzero"`
	Limits       Limits              `yaml:"limits,omitempty" json:"limits,omitzero"`
	HoldStream   bool                `yaml:"hold_stream,omitempty" json:"hold_stream,omitempty"`     // nothing is streamed before after_model_call
	OutputSchema map[string]any      `yaml:"output_schema,omitempty" json:"output_schema,omitempty"` // JSON Schema of every answer
	// Language is that of what the host itself says to people for the agent, such as de
	// or pt-BR; default English.
	Language string `yaml:"language,omitempty" json:"language,omitempty"`
	// Texts are sentences of its own in place of the host's, by their keys.
	Texts      map[string]string `yaml:"texts,omitempty" json:"texts,omitempty"`
	Partitions int               `yaml:"partitions,omitempty" json:"partitions,omitempty"`
}

// NotifyApprovers is the one value of Config.Notify.
const NotifyApprovers = "approvers"

// ReachedBy are the doors that lead to the agent.
func (c Config) ReachedBy() []string {
	list := slices.Clone(c.Doors)
	if c.Doors == nil {
		list = bus.Doors()
	}
	if c.ShadowOf == "" {
		list = append(list, bus.DoorProbe)
	}
	return list
}

// Bindings are those of Channels, and one to each account of each door that leads to
// the agent.
func (c Config) Bindings() []Binding {
	list := slices.Clone(c.Channels)
	for _, door := range c.ReachedBy() {
		list = append(list, Binding{Channel: door}, Binding{Channel: door, Instance: "*"})
	}
	return list
}

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

// Retention is how long what an agent has done is kept.
type Retention struct {
	Sessions time.Duration `yaml:"sessions,omitempty" json:"sessions,omitempty"` // after the last message; 0: for ever
}

// Names is a list that may be written as one plain string.
type Names []string

// UnmarshalText reads the short form.
func (n *Names) UnmarshalText(text []byte) error {
	*n = Names{string(text)}
	return nil
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

// Subject is what the binding claims.
func (b Binding) Subject() string {
	if b.Instance == "" {
		return bus.InboundPrefix + b.Channel
	}
	return bus.InboundPrefix + b.Channel + "." + b.Instance
}
