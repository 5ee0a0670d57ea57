// Package config turns a file, or a folder of files, into a [Config], and
// everything that is wrong with it into problems that say where it is and what
// would be right. It composes the Config structs of the packages that do the
// work; only the host and its commands import it.
//
// Before anything is decoded, `${VAR}`, `${VAR:-default}` and `${file:path}`
// are replaced inside scalar values, never in keys, and never in values under
// the key `prompt`, where `${…}` is replaced when the prompt fires. `$${`
// stands for a literal `${`. The `text` of a webhook keeps its variables too: the
// body of a request fills them. A value without quotes is read again after that, and
// one with quotes where text cannot be, so that `${N}` can fill a number.
//
// Relative paths, those of `${file:path}` included, are relative to the folder
// of the configuration, not to the working folder.
package config

import (
	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/identity"
	"agenthost/llm"
	"agenthost/plugins/settings"
	"agenthost/tools"
)

// Config is the whole configuration of a host. One that [Load] or [Parse]
// returned has been checked: its names refer to something, its paths do not
// depend on its folder any more, and each agent has a model.
type Config struct {
	NATS     bus.Config                     `yaml:"nats,omitempty" json:"nats,omitzero"`
	HTTP     HTTP                           `yaml:"http,omitempty" json:"http,omitzero"`
	Models   map[string]llm.Config          `yaml:"models,omitempty" json:"models,omitempty"`
	Agents   []Agent                        `yaml:"agents,omitempty" json:"agents,omitempty"`
	Defaults Defaults                       `yaml:"defaults,omitempty" json:"defaults,omitzero"` // merged into Agents when they are loaded
	MCP      map[string]tools.MCPConfig     `yaml:"mcp,omitempty" json:"mcp,omitempty"`
	Services map[string]tools.ServiceConfig `yaml:"services,omitempty" json:"services,omitempty"`
	Fetch    tools.FetchConfig              `yaml:"fetch,omitempty" json:"fetch,omitzero"`
	Plugins  settings.Plugins               `yaml:"plugins,omitempty" json:"plugins,omitzero"`
	Hooks    []hooks.Config                 `yaml:"hooks,omitempty" json:"hooks,omitempty"`
	// Identities are people with the accounts that are theirs, by names that only
	// the configuration uses.
	Identities map[string]identity.Config `yaml:"identities,omitempty" json:"identities,omitempty"`

	HookFaults   []Problem `yaml:"-" json:"-"` // the hooks that there is no room for
	SchemaFaults []Problem `yaml:"-" json:"-"` // what is wrong with each output_schema that cannot be read
	// LeftOut are these and SkillFaults, in the order of the files.
	LeftOut []Problem `yaml:"-" json:"-"`
	// Warnings are what keeps no host from starting, and is hardly meant.
	Warnings []Problem `yaml:"-" json:"-"`
}

// What a file that does not say otherwise gets.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultStore  = "data" // in the folder of the configuration
)

// Demo returns the configuration of a host that was given none: the agent demo
// on the channel demo and on the chat page, with the model that echoes, on an
// embedded server.
func Demo() *Config {
	return &Config{
		NATS:   bus.Config{Embedded: bus.Embedded{Store: DefaultStore}},
		HTTP:   HTTP{Listen: DefaultListen},
		Models: map[string]llm.Config{"echo": {Provider: "echo"}},
		Agents: []Agent{{Config: agents.Config{
			ID:          "demo",
			Description: "Says what it is told.",
			Model:       agents.Names{"echo"},
			Channels:    []agents.Binding{{Channel: "demo"}, {Channel: "web"}},
		}}},
		Plugins: settings.Plugins{Web: &settings.Web{}},
	}
}
