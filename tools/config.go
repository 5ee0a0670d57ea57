package tools

// An MCPConfig is one entry of `mcp:`, a server over stdio or HTTP.
type MCPConfig struct {
	Command []string          `yaml:"command,omitempty" json:"command,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// OAuth is how the host gets a token for a server over HTTP; default: by
	// `agenthost mcp login`, if the server wants one.
	OAuth OAuthConfig `yaml:"oauth,omitempty" json:"oauth,omitzero"`
	// Resources offers tools that list and read the server's resources; default
	// false.
	Resources bool `yaml:"resources,omitempty" json:"resources,omitempty"`
	// Prompts offers tools that list and fill in the server's prompts; default
	// false.
	Prompts bool `yaml:"prompts,omitempty" json:"prompts,omitempty"`
	// Trust believes the server which of its tools are harmless; default false.
	Trust bool `yaml:"trust,omitempty" json:"trust,omitempty"`
}

// OAuthConfig is `oauth:` of an MCP server.
type OAuthConfig struct {
	// Grant is authorization_code, for a token by `agenthost mcp login`, or
	// client_credentials, for one that the host gets by itself; default
	// authorization_code.
	Grant string `yaml:"grant,omitempty" json:"grant,omitempty"`
	// ClientID is that of a client registered with the authorization server;
	// default: the login registers one, if the server lets it.
	ClientID string `yaml:"client_id,omitempty" json:"client_id,omitempty"`
	// ClientSecret is the secret of that client, if it has one.
	ClientSecret string `yaml:"client_secret,omitempty" json:"client_secret,omitempty"`
}

// The grants of an OAuthConfig.
const (
	AuthorizationCode = "authorization_code"
	ClientCredentials = "client_credentials"
)

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
