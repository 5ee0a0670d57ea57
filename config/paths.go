package config

import (
	"path/filepath"

	"agenthost/agents"
)

// setDefaults fills in what depends on whether the file says something, or on
// other parts of it.
func (k *checker) setDefaults() {
	if !k.set("http.listen") {
		k.c.HTTP.Listen = DefaultListen
	}
	if nats := &k.c.NATS; nats.URL == "" && nats.Context == "" && nats.Embedded.Store == "" {
		nats.Embedded.Store = DefaultStore
	}
	for i := range k.c.Agents {
		if a := &k.c.Agents[i]; len(a.Model) == 0 && (a.Behavior == "" || len(k.c.Models) == 1) {
			a.Model = agents.Names(sorted(k.c.Models))
		}
	}
}

// resolvePaths makes the paths independent of the folder of the configuration.
func (c *Config) resolvePaths(folder string) {
	n := &c.NATS
	for _, path := range []*string{&n.Creds, &n.NKey, &n.TLS.CA, &n.TLS.Cert, &n.TLS.Key, &n.Embedded.Store, &n.Embedded.Config} {
		*path = below(folder, *path)
	}
	for name, m := range c.Models {
		m.Script = below(folder, m.Script)
		c.Models[name] = m
	}
}

func below(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
