package llm

import "time"

// Config is one entry of `models:`. Where base_url is a list BaseURLs has all of
// it, and BaseURL the first.
type Config struct {
	Provider string   `yaml:"provider" json:"provider"`
	Model    string   `yaml:"model,omitempty" json:"model,omitempty"`
	APIKey   string   `yaml:"api_key,omitempty" json:"api_key,omitempty"`
	BaseURL  string   `yaml:"base_url,omitempty" json:"base_url,omitempty"` // empty: the provider's own
	BaseURLs []string `yaml:"-" json:"-"`                                   // several servers, which share the load
	Window   int      `yaml:"window,omitempty" json:"window,omitempty"`     // tokens; 0: that of Known, else 128000
	Script   string   `yaml:"script,omitempty" json:"script,omitempty"`     // provider scripted: its YAML file, relative to the config
	// ScriptSum is the checksum of what the file has, so that a configuration with another
	// script is another one.
	ScriptSum string `yaml:"-" json:"-"`

	// MaxTokens bounds one answer; 0: the provider's own bound, where it has one.
	MaxTokens   int      `yaml:"max_tokens,omitempty" json:"max_tokens,omitempty"`
	Temperature *float64 `yaml:"temperature,omitempty" json:"temperature,omitempty"`
	Effort      Effort   `yaml:"effort,omitempty" json:"effort,omitempty"` // of the reasoning; empty: the provider's own choice

	Price *Price `yaml:"price,omitempty" json:"price,omitempty"` // instead of the built-in table's
	Rate  Rate   `yaml:"rate,omitempty" json:"rate,omitzero"`

	Timeouts Timeouts `yaml:"timeouts,omitempty" json:"timeouts,omitzero"`

	// Hedge is how long a call may take to its first byte before the next model of
	// the chain is asked as well; 0: as long as it takes.
	Hedge time.Duration `yaml:"hedge,omitempty" json:"hedge,omitempty"`
}

// A Rate bounds the calls of a model by one host; 0: no bound.
type Rate struct {
	Requests    int `yaml:"requests,omitempty" json:"requests,omitempty"`       // a minute
	Burst       int `yaml:"burst,omitempty" json:"burst,omitempty"`             // at once after a silence; default: a tenth of Requests
	Concurrency int `yaml:"concurrency,omitempty" json:"concurrency,omitempty"` // under way at once
}

// List is where the list goes that may stand in the place of a single value.
func (c *Config) List(key string) *[]string {
	if key == "base_url" {
		return &c.BaseURLs
	}
	return nil
}

// Servers are c for each of its servers alone.
func (c Config) Servers() []Config {
	urls := c.BaseURLs
	if len(urls) == 0 {
		urls = []string{c.BaseURL}
	}
	list := make([]Config, len(urls))
	for i, url := range urls {
		list[i] = c
		list[i].BaseURL, list[i].BaseURLs = url, nil
	}
	return list
}
