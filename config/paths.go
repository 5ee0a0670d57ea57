package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

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
		if m.Script != "" {
			m.Script = below(folder, m.Script)
			m.ScriptSum = fileSum(m.Script)
		}
		c.Models[name] = m
	}
	c.resolvePluginPaths(folder)
}

// fileSum is the checksum of a regular file, empty for anything else.
func fileSum(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// resolvePluginPaths does so for the accounts of channels. The program of an exec
// plugin is looked for in the PATH when it has no slash.
func (c *Config) resolvePluginPaths(folder string) {
	for name, s := range c.Plugins.IRC {
		s.CA = below(folder, s.CA)
		c.Plugins.IRC[name] = s
	}
	for name, s := range c.Plugins.Email {
		s.IMAP.CA, s.SMTP.CA = below(folder, s.IMAP.CA), below(folder, s.SMTP.CA)
		c.Plugins.Email[name] = s
	}
	for _, s := range c.Plugins.Exec {
		if program := s.Command[0]; strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
			if s.Command[0] = below(folder, program); !filepath.IsAbs(folder) {
				s.Command[0] = "." + string(filepath.Separator) + s.Command[0]
			}
		}
	}
}

// checkFiles reports the files that are named and cannot be read.
func (k *checker) checkFiles() {
	n := k.c.NATS
	k.checkFile("nats.creds", n.Creds)
	k.checkFile("nats.nkey", n.NKey)
	k.checkFile("nats.tls.ca", n.TLS.CA)
	k.checkFile("nats.tls.cert", n.TLS.Cert)
	k.checkFile("nats.tls.key", n.TLS.Key)
	k.checkFile("nats.embedded.config", n.Embedded.Config)
	for name, s := range k.c.Plugins.IRC {
		k.checkFile(yamldoc.Join("plugins.irc", name)+".ca", s.CA)
	}
	for name, s := range k.c.Plugins.Email {
		at := yamldoc.Join("plugins.email", name)
		k.checkFile(at+".imap.ca", s.IMAP.CA)
		k.checkFile(at+".smtp.ca", s.SMTP.CA)
	}
	for name, m := range k.c.Models {
		at := yamldoc.Join(yamldoc.Join("models", name), "script")
		if info, err := os.Stat(below(k.folder, m.Script)); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			k.Fault(at, "%s: it is a pipe or a device; want a file, which each reload can read", k.Key(at)) // unlike a key
			continue
		}
		k.checkFile(at, m.Script)
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
// read only once, and opening it may wait for its writer.
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
