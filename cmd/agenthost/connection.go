package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"time"

	"agenthost/bus"
	"agenthost/config"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
)

// natsFlags say where NATS is and who connects, as with the nats command.
type natsFlags struct{ bus.Config }

func (f *natsFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.URL, "server", "s", "", "NATS `URL` (NATS_URL)")
	flags.StringVar(&f.Context, "context", "", "NATS context, as the nats command keeps it (NATS_CONTEXT)")
	flags.StringVar(&f.Creds, "creds", "", "`file` of NATS credentials (NATS_CREDS)")
	flags.StringVar(&f.NKey, "nkey", "", "`file` of an NKey seed (NATS_NKEY)")
	flags.StringVar(&f.User, "user", "", "NATS user (NATS_USER)")
	flags.StringVar(&f.Password, "password", "", "NATS password (NATS_PASSWORD)")
	flags.StringVar(&f.Token, "token", "", "NATS token (NATS_TOKEN)")
}

func (f *natsFlags) identified() bool {
	return f.User != "" || f.Creds != "" || f.NKey != "" || f.Token != ""
}

// over is file, what a configuration says of NATS, with flags and environment
// above it. Who names another address leaves the credentials of file behind.
func (f *natsFlags) over(file bus.Config, getenv func(string) string) bus.Config {
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

// natsConfig is the NATS that flags, environment or configuration name, in
// this order. The configuration is not read when it has no say, and what is
// wrong with it elsewhere is no hindrance: the host that runs has read another.
func (a *app) natsConfig() (bus.Config, error) {
	cfg, err := a.natsAddress()
	if err != nil {
		return bus.Config{}, err
	}
	return a.withToken(cfg)
}

// withToken adds the token where cfg names, as the server of others, the one that
// is embedded in the host of this configuration.
func (a *app) withToken(cfg bus.Config) (bus.Config, error) {
	if cfg.URL == "" {
		return cfg, nil
	}
	ours := cfg
	if a.config == "" {
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
func (a *app) embeddedHere() bus.Config {
	path, err := a.configPath()
	if err != nil || path == "" {
		return config.Demo().NATS
	}
	file, err := config.LoadNATS(path)
	if err != nil {
		return config.Demo().NATS
	}
	return file
}

func (a *app) natsAddress() (bus.Config, error) {
	if named, ok := a.namedNATS(); ok {
		return named, nil
	}
	path, err := a.configPath()
	if err != nil {
		return bus.Config{}, err
	}
	file := config.Demo().NATS
	if path != "" {
		if file, err = config.LoadNATS(path); err != nil {
			return bus.Config{}, err
		}
	}
	return a.nats.over(file, a.getenv), nil
}

// namedNATS is the NATS that flags or environment name, where no configuration
// is named beside it.
func (a *app) namedNATS() (bus.Config, bool) {
	named := a.nats.over(bus.Config{}, a.getenv)
	return named, a.config == "" && named.External()
}

// unreachable is the error of a command that finds no NATS: what is wrong with
// the configuration if anything is, since no host can have started with it.
func (a *app) unreachable(err error) error {
	if _, named := a.namedNATS(); !named {
		if _, _, wrong := a.settings(); wrong != nil {
			return wrong
		}
	}
	return hintHost(err)
}

// dialWithin bounds what a command waits for NATS to answer.
const dialWithin = 5 * time.Second

// connect connects a command to the NATS of a fleet. The caller closes the
// connection.
func (a *app) connect(ctx context.Context) (*nats.Conn, jetstream.JetStream, error) {
	cfg, err := a.natsConfig()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	nc, js, err := bus.Dial(ctx, cfg, "cli", zerolog.Nop())
	if err != nil {
		return nil, nil, a.unreachable(err)
	}
	a.nc = nc
	nc.SetDisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil { // else the command has closed it
			a.lost.Store(true)
		}
	})
	return nc, js, nil
}

// hintLost adds to the error of a command that got no answer that NATS has gone.
func (a *app) hintLost(err error) error {
	silent := errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if !silent || !a.lost.Load() {
		return err
	}
	return fmt.Errorf("%w; the connection to NATS was lost: when it is up again, look whether that was done, and repeat it if not", err)
}

// hintRefused adds to the error of a command what NATS has refused it meanwhile:
// who asks hears nothing then, and that is told apart. Without the token that is
// the whole error: that no host answers would mislead.
func (a *app) hintRefused(err error) error {
	if a.nc == nil || errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	if refused := a.nc.LastError(); errors.Is(refused, nats.ErrPermissionViolation) {
		if a.anonymous() {
			return fmt.Errorf("permission denied: %s", bus.LogInHint)
		}
		return fmt.Errorf("%w; %w: this user of NATS needs the permission", err, refused)
	}
	return err
}

// anonymous reports whether the command has come to a host's embedded server
// without its token. The connection is closed by now.
func (a *app) anonymous() bool {
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	cfg, err := a.natsConfig()
	if err != nil {
		return false
	}
	nc, _, err := bus.Dial(ctx, cfg, "cli", zerolog.Nop())
	if err != nil {
		return false
	}
	defer nc.Close()
	return bus.Anonymous(ctx, nc)
}

// hintJetStream adds to an error of JetStream what would help where there is none.
func hintJetStream(err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%w; JetStream does not answer there: start that server with -js, or with a jetstream block in its configuration", err)
	}
	return err
}

// hintHost adds to an error of connecting what would help where there is no NATS,
// or something else, or one that dies just then.
func hintHost(err error) error {
	if _, file := errors.AsType[*fs.PathError](err); file {
		return err // whose number is a net.Error too
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, nats.ErrNoServers) || errors.Is(err, io.EOF) {
		return fmt.Errorf(`%w; start a host with "agenthost run", or name its NATS with -s`, err)
	}
	return err
}
