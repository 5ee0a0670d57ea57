package agents

import (
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
	Doors            Selection `yaml:"doors,omitempty" json:"doors,omitzero"`          // by which programs reach it; nil: all of bus.Doors
	ShadowOf         string    `yaml:"shadow_of,omitempty" json:"shadow_of,omitempty"` // see internal/profile/shadow.go
	Tools            []string  `yaml:"tools,omitempty" json:"tools,omitempty"`
	Delegates        []string  `yaml:"delegates,omitempty" json:"delegates,omitempty"`
	Accepts          Selection `yaml:"accepts,omitempty" json:"accepts,omitzero"` // agents that may ask it; nil: all
	// Approvers are who may approve what the agent asks, from whichever chat that is read, each as
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

// A Selection names some of several. Nil is not said, and means all; an empty one means none.
type Selection []string

// IsZero reports whether nothing is said.
func (s Selection) IsZero() bool { return s == nil }

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
