package config

import (
	"os"
	"path/filepath"

	"agenthost/agents"
	"agenthost/internal/yamldoc"
)

// setDefaults fills in what depends on whether the file says something, or on
// other parts of it.
func (k *checker) setDefaults() {
	if !k.Set("http.listen") {
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

// checkFiles reports the files that are named and that nobody could read.
func (k *checker) checkFiles() {
	n := k.c.NATS
	k.checkFile("nats.creds", n.Creds)
	k.checkFile("nats.nkey", n.NKey)
	k.checkFile("nats.tls.ca", n.TLS.CA)
	k.checkFile("nats.tls.cert", n.TLS.Cert)
	k.checkFile("nats.tls.key", n.TLS.Key)
	k.checkFile("nats.embedded.config", n.Embedded.Config)
	for name, m := range k.c.Models {
		k.checkFile(yamldoc.Join(yamldoc.Join("models", name), "script"), m.Script)
	}
}

func (k *checker) checkFile(path, file string) {
	if file == "" {
		return
	}
	if fault := fileFault(below(k.folder, file)); fault != "" {
		// Who takes a key for the path of one finds it in no message.
		k.Fault(path, "%s: %s; want the path of a file, relative to the folder of the configuration", k.Key(path), fault)
	}
}

// fileFault says why a file cannot be read. A pipe is not opened: it may be
// read only once, and opening it may wait for whoever writes.
func fileFault(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return yamldoc.WhyUnreadable(err)
	case info.IsDir():
		return "it is a folder"
	case !info.Mode().IsRegular():
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return yamldoc.WhyUnreadable(err)
	}
	_ = f.Close() // nothing was written
	return ""
}

func below(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
