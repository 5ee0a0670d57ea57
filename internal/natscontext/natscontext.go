// Package natscontext writes contexts of the nats command.
package natscontext

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"

	"agenthost/bus"
	"agenthost/internal/atomicfile"
)

// A Context is a file of the nats command, of which the user may be the only
// reader. Its keys are those of the command.
type Context struct {
	Description string `json:"description"`
	URL         string `json:"url"`
	User        string `json:"user,omitempty"`
	Password    string `json:"password,omitempty"`
	Token       string `json:"token,omitempty"`
	Creds       string `json:"creds,omitempty"`
	NKey        string `json:"nkey,omitempty"`
	CA          string `json:"ca,omitempty"`
	Cert        string `json:"cert,omitempty"`
	Key         string `json:"key,omitempty"`
	Domain      string `json:"jetstream_domain,omitempty"`
	InboxPrefix string `json:"inbox_prefix,omitempty"`
}

// Of is what leads to the NATS of a configuration.
func Of(cfg bus.Config) (c *Context, err error) {
	if cfg.Context != "" {
		return nil, fmt.Errorf("the configuration uses the NATS context %s already", cfg.Context)
	}
	if !cfg.External() {
		if cfg, err = embeddedContext(cfg); err != nil {
			return nil, err
		}
	}
	return &Context{
		Description: "NATS of agenthost", URL: cfg.URL, User: cfg.User, Password: cfg.Password, Token: cfg.Token,
		Creds: absolute(cfg.Creds), NKey: absolute(cfg.NKey),
		CA: absolute(cfg.TLS.CA), Cert: absolute(cfg.TLS.Cert), Key: absolute(cfg.TLS.Key),
		Domain: cfg.Domain, InboxPrefix: cfg.InboxPrefix,
	}, nil
}

// embeddedContext is cfg with the address and the token of the embedded server.
func embeddedContext(cfg bus.Config) (bus.Config, error) {
	host, port, err := net.SplitHostPort(cfg.Embedded.Reached())
	switch {
	case err != nil:
		return cfg, errors.New(`the host's NATS has no port: nats.embedded.listen is ""; set it`)
	case port == "0":
		return cfg, errors.New("the host's NATS takes a new port at each start, and no host runs; start it first, or set nats.embedded.listen")
	case !bus.Loopback(host):
		host = cmp.Or(map[string]string{"::": "::1"}[host], "127.0.0.1")
	}
	cfg.URL = "nats://" + net.JoinHostPort(host, port)
	with, err := cfg.WithToken()
	if err == nil && with.User == "" && with.Creds == "" && with.NKey == "" && with.Token == "" {
		err = fmt.Errorf("there is no token in %q: start the host once, which makes it", cfg.Embedded.TokenFile())
	}
	return with, err
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); path != "" && err == nil {
		return whole
	}
	return path
}

// A Folder is where the nats command keeps its contexts.
type Folder string

// FolderOf is that of this user.
func FolderOf(getenv func(string) string) (Folder, error) {
	parent := getenv("XDG_CONFIG_HOME")
	if parent == "" {
		me, err := user.Current() // that command does not go by $HOME
		if err != nil {
			return "", fmt.Errorf("find the folder of NATS contexts: %w", err)
		}
		parent = filepath.Join(me.HomeDir, ".config")
	}
	return Folder(filepath.Join(parent, "nats")), nil
}

// File is that of a context.
func (f Folder) File(name string) string { return filepath.Join(string(f), "context", name+".json") }

// Write writes a context, over one of that name, and makes it the selected one if it is to be.
func (f Folder) Write(name string, c *Context, selected bool) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = writePrivate(f.File(name), append(data, '\n'))
	}
	if err == nil && selected {
		err = writePrivate(filepath.Join(string(f), "context.txt"), []byte(name))
	}
	if err != nil {
		return fmt.Errorf("write the context %s: %w", name, err)
	}
	return nil
}

// writePrivate replaces file by one that only this user reads.
func writePrivate(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}
