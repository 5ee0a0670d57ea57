package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"

	"agenthost/bus"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

// A natsContext is a file of the nats command, of which the user may be the only
// reader. Its keys are those of the command.
type natsContext struct {
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

func (a *app) natsContextCommand() *cobra.Command {
	var force, selected bool
	cmd := &cobra.Command{
		Use:   "nats-context [NAME]",
		Short: "Write a context for the nats command",
		Long: `Nats-context writes a context for the nats command, with the address of the
NATS of this configuration and what logs in there: for the embedded server the
user agenthost and the token in its data folder. The name is agenthost unless
you give another. The commands of agenthost take it with --context.`,
		Example: `  agenthost nats-context --select
  nats stream ls
  agenthost nats-context kiwi -c /etc/agenthost && agenthost agents --context kiwi`,
		Args: cli.Takes("[NAME]"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := "agenthost"
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" || name != filepath.Base(name) || name[0] == '.' {
				return cli.Usage("context %q: want a name that can be that of a file", name)
			}
			return a.writeNATSContext(name, force, selected)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite a context of that name without asking")
	cmd.Flags().BoolVar(&selected, "select", false, "have the nats command use it by default")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) writeNATSContext(name string, force, selected bool) error {
	nc, err := a.natsContext()
	if err != nil {
		return err
	}
	dir, err := contextFolder(a.Getenv)
	if err != nil {
		return fmt.Errorf("find the folder of NATS contexts: %w", err)
	}
	file := filepath.Join(dir, "context", name+".json")
	if _, err := os.Lstat(file); err == nil && !force && !a.Confirm("overwrite the context "+name+"?") {
		return fmt.Errorf("context %s is there already; --force overwrites it", name)
	}
	data, err := json.MarshalIndent(nc, "", "  ")
	if err == nil {
		err = writePrivate(file, append(data, '\n'))
	}
	if err == nil && selected {
		err = writePrivate(filepath.Join(dir, "context.txt"), []byte(name))
	}
	if err != nil {
		return fmt.Errorf("write the context %s: %w", name, err)
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"context": name, "file": file, "selected": selected})
	}
	fmt.Fprintf(a.Stdout, "wrote %s\n", file)
	return nil
}

// natsContext is what leads to the NATS of the configuration.
func (a *app) natsContext() (*natsContext, error) {
	cfg, err := a.NATSConfig()
	if err != nil {
		return nil, err
	}
	if cfg.Context != "" {
		return nil, fmt.Errorf("the NATS of the configuration is that of the context %s already", cfg.Context)
	}
	if !cfg.External() {
		if cfg, err = embeddedContext(cfg); err != nil {
			return nil, err
		}
	}
	return &natsContext{
		Description: "NATS of agenthost", URL: cfg.URL, User: cfg.User, Password: cfg.Password, Token: cfg.Token,
		Creds: absolute(cfg.Creds), NKey: absolute(cfg.NKey),
		CA: absolute(cfg.TLS.CA), Cert: absolute(cfg.TLS.Cert), Key: absolute(cfg.TLS.Key),
		Domain: cfg.Domain, InboxPrefix: cfg.InboxPrefix,
	}, nil
}

// embeddedContext is cfg with the address and the token of the embedded server.
func embeddedContext(cfg bus.Config) (bus.Config, error) {
	host, port, err := net.SplitHostPort(cfg.Embedded.Address())
	switch {
	case err != nil:
		return cfg, errors.New(`the host's NATS has no port: nats.embedded.listen is ""; set it`)
	case port == "0":
		return cfg, errors.New("the port of the host's NATS is another at each start; set nats.embedded.listen, or name it with -s")
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

// contextFolder is where the nats command keeps its contexts.
func contextFolder(getenv func(string) string) (string, error) {
	parent := getenv("XDG_CONFIG_HOME")
	if parent == "" {
		me, err := user.Current() // that command does not go by $HOME
		if err != nil {
			return "", err
		}
		parent = filepath.Join(me.HomeDir, ".config")
	}
	return filepath.Join(parent, "nats"), nil
}

// writePrivate replaces file by one that only this user reads.
func writePrivate(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
