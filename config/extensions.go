package config

import (
	"path/filepath"
	"slices"

	"agenthost/plugins/settings"
)

// Extensions are names that a program adds to those of the host, so that its
// configuration may use them. The zero Extensions adds none.
type Extensions struct {
	Providers []string // of models
	Tools     []string
	Channels  []string // of plugins
}

// Load is the function [Load] for a configuration that may use the extensions.
func (e Extensions) Load(path string) (*Config, error) { return open(path, e).config() }

// Parse is the function [Parse] for a configuration that may use the extensions.
func (e Extensions) Parse(name string, data []byte) (*Config, error) {
	l := newLoader(filepath.Dir(name))
	l.own = e
	l.addYAML(name, data)
	return l.config()
}

// accounts is a table with the names of the channels.
func (e Extensions) accounts() map[string]map[string]settings.Own {
	table := map[string]map[string]settings.Own{}
	for _, name := range e.Channels {
		table[name] = nil
	}
	return table
}

func (e Extensions) providers() []string { return slices.Concat(providers, e.Providers) }
