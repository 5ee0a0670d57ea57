package llm

// Config is one entry of `models:`.
type Config struct {
	Provider string `yaml:"provider" json:"provider"`
	Model    string `yaml:"model,omitempty" json:"model,omitempty"`
	APIKey   string `yaml:"api_key,omitempty" json:"api_key,omitempty"`
	BaseURL  string `yaml:"base_url,omitempty" json:"base_url,omitempty"` // empty: the provider's own
	Window   int    `yaml:"window,omitempty" json:"window,omitempty"`     // tokens; 0: unknown, never compacted
	Script   string `yaml:"script,omitempty" json:"script,omitempty"`     // provider scripted: its YAML file, relative to the config
}
