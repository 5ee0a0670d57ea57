package tools

// An MCPConfig is one entry of `mcp:`, a server over stdio or HTTP.
type MCPConfig struct {
	Command []string          `yaml:"command,omitempty" json:"command,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
}

// A ServiceConfig is one entry of `services:`, a NATS micro service by name.
type ServiceConfig struct {
	// Trust believes the service that an endpoint is read-only; default false.
	Trust bool `yaml:"trust,omitempty" json:"trust,omitempty"`
}

// FetchConfig is `fetch:`, what the tool fetch_url may reach.
type FetchConfig struct {
	// AllowHosts names the hosts, with the port where it is not the usual one,
	// whose pages may be fetched without an approval; default none.
	AllowHosts []string `yaml:"allow_hosts,omitempty" json:"allow_hosts,omitempty"`
	// AllowPrivate names hosts, addresses and networks (CIDR) that may be
	// reached although they are not public; default none.
	AllowPrivate []string `yaml:"allow_private,omitempty" json:"allow_private,omitempty"`
}

// SandboxConfig is `sandbox:` of an agent, what its commands may reach besides
// the workspace.
type SandboxConfig struct {
	// Network lets commands use the internet and the ports of this machine;
	// default false.
	Network bool `yaml:"network,omitempty" json:"network,omitempty"`
}
