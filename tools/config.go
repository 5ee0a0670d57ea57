// Package tools will hold the registry, the policy and the schema check. So
// far it holds their configuration only, so that a file written for them is
// checked.
package tools

// An MCPConfig is one entry of `mcp:`, a server over stdio or HTTP.
type MCPConfig struct {
	Command []string          `yaml:"command,omitempty" json:"command,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
}

// A ServiceConfig is one entry of `services:`, a NATS micro service by name.
type ServiceConfig struct{}
