package cli

import (
	"context"
	"errors"
	"io/fs"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
)

// NATSFlags say where NATS is and who connects, as with the nats command.
type NATSFlags struct{ bus.Config }

func (f *NATSFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.URL, "server", "s", "", "NATS `URL` (NATS_URL)")
	flags.StringVar(&f.Context, "context", "", "NATS context, as the nats command keeps it (NATS_CONTEXT)")
	flags.StringVar(&f.Creds, "creds", "", "`file` of NATS credentials (NATS_CREDS)")
	flags.StringVar(&f.NKey, "nkey", "", "`file` of an NKey seed (NATS_NKEY)")
	flags.StringVar(&f.User, "user", "", "NATS user (NATS_USER)")
	flags.StringVar(&f.Password, "password", "", "NATS password (NATS_PASSWORD)")
	flags.StringVar(&f.Token, "token", "", "NATS token (NATS_TOKEN)")
}

func (f *NATSFlags) identified() bool {
	return f.User != "" || f.Creds != "" || f.NKey != "" || f.Token != ""
}

// over is file, what a configuration says of NATS, with flags and environment
// above it. Who names another address leaves the credentials of file behind.
func (f *NATSFlags) over(file bus.Config, getenv func(string) string) bus.Config {
	named := f.WithEnv(getenv)
	if named.External() {
		named.Domain, named.Replicas, named.Lanes, named.Embedded = file.Domain, file.Replicas, file.Lanes, file.Embedded
		if named.Context == "" { // which has one of its own
			named.InboxPrefix = file.InboxPrefix
		}
		return named
	}
	if f.identified() {
		file.User, file.Password, file.Creds, file.NKey, file.Token = f.User, f.Password, f.Creds, f.NKey, f.Token
	}
	return file.WithEnv(getenv)
}

// NATSConfig is the NATS that flags, environment or configuration name, in
// this order. The configuration is not read when it has no say, and what is
// wrong with it elsewhere is no hindrance: the host that runs has read another.
func (a *App) NATSConfig() (bus.Config, error) {
	cfg, err := a.NATSAddress()
	if err != nil {
		return bus.Config{}, err
	}
	return a.withToken(cfg)
}

// withToken adds the token where cfg names, as the server of others, the one that
// is embedded in the host of this configuration.
func (a *App) withToken(cfg bus.Config) (bus.Config, error) {
	if cfg.URL == "" {
		return cfg, nil
	}
	ours := cfg
	if a.ConfigPath == "" {
		ours.Embedded = a.embeddedHere().Embedded
	}
	if !ours.Embedded.ServesAt(cfg.URL) {
		return cfg, nil
	}
	ours, err := ours.WithToken()
	ours.Embedded = cfg.Embedded
	return ours, err
}

// embeddedHere is the embedded server of the configuration in this folder.
func (a *App) embeddedHere() bus.Config {
	path, err := a.FindConfig()
	if err != nil || path == "" {
		return config.Demo().NATS
	}
	file, err := config.LoadNATS(path)
	if err != nil {
		return config.Demo().NATS
	}
	return file
}

// NATSAddress is where NATS is by flags and environment, else by the configuration.
func (a *App) NATSAddress() (bus.Config, error) {
	if named, ok := a.NamedNATS(); ok {
		return named, nil
	}
	path, err := a.FindConfig()
	if err != nil {
		return bus.Config{}, err
	}
	file := config.Demo().NATS
	if path != "" {
		if file, err = config.LoadNATS(path); err != nil {
			return bus.Config{}, err
		}
	}
	return a.NATS.over(file, a.Getenv), nil
}

// NamedNATS is the NATS that flags or environment name, where no configuration
// is named beside it.
func (a *App) NamedNATS() (bus.Config, bool) {
	named := a.NATS.over(bus.Config{}, a.Getenv)
	return named, a.ConfigPath == "" && named.External()
}

// Unreachable is the error of a command that finds no NATS: what is wrong with
// the configuration if anything is, since no host can have started with it. One has where
// there is a token that may not be read.
func (a *App) Unreachable(err error) error {
	if _, named := a.NamedNATS(); !named && !errors.Is(err, fs.ErrPermission) {
		if _, _, wrong := a.Settings(); wrong != nil {
			return wrong
		}
	}
	return err
}

// Connect connects the command to the NATS of a fleet. The caller closes the
// client.
func (a *App) Connect(ctx context.Context) (*client.Client, error) {
	cfg, err := a.NATSConfig()
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(ctx, cfg, client.Options{Name: "cli", Door: bus.DoorCLI, By: Operator(), Log: zerolog.Nop()})
	if err != nil {
		return nil, a.Unreachable(err)
	}
	a.client = c
	return c, nil
}

// WithClient connects the command, calls do, and closes the connection.
func (a *App) WithClient(ctx context.Context, do func(*client.Client) error) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}
