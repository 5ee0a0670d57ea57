package bus

// Config is `nats:`. Without URL and Context the server is embedded.
type Config struct {
	URL      string   `yaml:"url,omitempty" json:"url,omitempty"`
	Context  string   `yaml:"context,omitempty" json:"context,omitempty"`
	Creds    string   `yaml:"creds,omitempty" json:"creds,omitempty"`
	NKey     string   `yaml:"nkey,omitempty" json:"nkey,omitempty"` // a file that holds the seed
	User     string   `yaml:"user,omitempty" json:"user,omitempty"`
	Password string   `yaml:"password,omitempty" json:"password,omitempty"`
	Token    string   `yaml:"token,omitempty" json:"token,omitempty"`
	TLS      TLS      `yaml:"tls,omitempty" json:"tls,omitzero"`
	Domain   string   `yaml:"domain,omitempty" json:"domain,omitempty"` // JetStream domain
	Embedded Embedded `yaml:"embedded,omitempty" json:"embedded,omitzero"`

	// InboxPrefix begins the subjects of replies; default _INBOX, or the context's.
	InboxPrefix string `yaml:"inbox_prefix,omitempty" json:"inbox_prefix,omitempty"`

	// Owner is the fleet's name in the agent protocol for NATS; default "default".
	Owner string `yaml:"owner,omitempty" json:"owner,omitempty"`

	Replicas int `yaml:"replicas,omitempty" json:"replicas,omitempty"` // default 1
	Lanes    int `yaml:"lanes,omitempty" json:"lanes,omitempty"`       // default 4
}

// TLS names the files of a TLS connection to an external server.
type TLS struct {
	CA   string `yaml:"ca,omitempty" json:"ca,omitempty"`
	Cert string `yaml:"cert,omitempty" json:"cert,omitempty"`
	Key  string `yaml:"key,omitempty" json:"key,omitempty"`
}
