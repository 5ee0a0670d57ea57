package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/cli"
	"agenthost/internal/lockfile"
	"agenthost/internal/memlimit"
	"agenthost/internal/natsserver"
	"agenthost/internal/starter"
)

func (a *app) runCommand() *cobra.Command {
	var name string
	var grace time.Duration
	var weight int
	logs := cli.NewLogFlags("info")
	cmd := &cobra.Command{
		Use:        "run",
		SuggestFor: []string{"start", "serve", "up", "server"},
		Short:      "Serve the agents of a configuration",
		Long: `Run serves the agents of a configuration until SIGINT or SIGTERM; then it lets
runs in progress finish. A second signal ends it at once. Nothing is lost either
way. When the configuration changes, and on SIGHUP, it is read again and takes
effect from the next turn of each session; see "agenthost reload --help". Without a
configuration it serves a demo agent.`,
		Example: `  agenthost run
  agenthost run -c /etc/agenthost --name blue
  agenthost run -s nats://10.0.0.5:4222      # join the fleet on that NATS
  agenthost run --weight 2                   # take twice the lanes of the others`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if grace < 0 {
				return cli.Usage("--grace %s: want 0 or more", grace)
			}
			if weight < 1 || weight > mostWeight {
				return cli.Usage("--weight %d: want a number from 1 to %d", weight, mostWeight)
			}
			if name != "" {
				if err := lockfile.CheckName(name); err != nil {
					return cli.Usage("--name %w", err)
				}
			}
			if a.JSON && logs.Format.Value == "auto" {
				logs.Format.Value = "json"
			}
			// Of the host's options zero is the default.
			opt := host.Options{Name: name, Weight: weight, Grace: max(grace, 1), Version: a.Version}
			return a.serve(cmd.Context(), opt, logs.Logger(a.Stderr, a.Getenv))
		},
	}
	a.ConfigFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name of this host in its fleet (default: the machine's)")
	cmd.Flags().DurationVar(&grace, "grace", host.DefaultGrace, "how long runs in progress may take when the host stops")
	cmd.Flags().IntVar(&weight, "weight", 1, "share of the lanes that this host takes beside the other hosts")
	logs.Register(cmd)
	return cmd
}

// mostWeight is what --weight may be.
const mostWeight = 1000

// serve runs a host until ctx ends.
func (a *app) serve(ctx context.Context, opt host.Options, log zerolog.Logger) error {
	cfg, path, err := a.Settings()
	if err != nil {
		return err
	}
	a.sayOverridden(path, log)
	if path == "" {
		a.hintModel(ctx, log)
	}
	opt.Config, opt.Path, opt.Log = cfg, path, log
	if path != "" {
		opt.Load = func() (*config.Config, error) { return a.Load(path) }
	}
	h := host.New(opt)
	defer a.tuneMemory(ctx, h, log)()
	defer cli.OnHangup(func(ctx context.Context) { h.Reload(ctx, host.BySignal) })()
	return h.Run(ctx)
}

// sayOverridden says when the environment, and no flag, has the host use another
// NATS than the one that is embedded by its configuration.
func (a *app) sayOverridden(path string, log zerolog.Logger) {
	file := config.Demo().NATS
	if path != "" {
		var err error
		if file, err = config.LoadNATS(path); err != nil {
			return // the host says so
		}
	}
	if file.External() || a.NATS.External() {
		return
	}
	for _, variable := range []string{"NATS_URL", "NATS_CONTEXT"} {
		if value := a.Getenv(variable); value != "" {
			log.Info().Str("nats", value[strings.LastIndex(value, "@")+1:]). // without a password
												Msg(variable + " is set: this host uses that NATS instead of the embedded server of its configuration; unset it for the embedded one")
			return
		}
	}
}

// hintModel says how the demo becomes something that thinks.
func (a *app) hintModel(ctx context.Context, log zerolog.Logger) {
	event := log.Info()
	if found := starter.FindModel(ctx, a.Getenv); found.Why != "" {
		event = event.Str("found", found.Why)
	}
	event.Msg(`no agenthost.yaml here: serving "demo", which repeats what it is told; for a real model: agenthost init`)
}

// tuneMemory sets how the process deals with memory. What the start of h has
// used for a moment goes back to the system when it is ready, or ctx ends.
func (a *app) tuneMemory(ctx context.Context, h *host.Host, log zerolog.Logger) (wait func()) {
	memlimit.Set(a.Getenv, log)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-h.Ready():
			debug.FreeOSMemory()
		case <-ctx.Done():
		}
	}()
	return func() { cancel(); <-done }
}

// mostLanes is what a configuration may ask for.
const mostLanes = 64

func (a *app) lanesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lanes N",
		Short: "Change the number of lanes of a stopped fleet",
		Long: `Lanes changes the number of lanes that a fleet spreads its agents over. Stop every
host first, and set nats.lanes to the same number before starting them again.`,
		Example: `  agenthost lanes 8
  agenthost lanes 8 -s nats://10.0.0.5:4222`,
		Args: cli.Takes("N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 || n > mostLanes {
				return cli.Usage("lanes %q: want a number from 1 to %d", args[0], mostLanes)
			}
			return a.setLanes(cmd.Context(), n)
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) setLanes(ctx context.Context, n int) error {
	cfg, named := a.NamedNATS()
	if !named { // what it changes goes with the rest of a configuration
		all, _, err := a.Settings()
		if err != nil {
			return err
		}
		cfg = all.NATS
	}
	if cfg.External() {
		return a.WithClient(ctx, func(c *client.Client) error { return a.setLanesOn(ctx, c.JetStream(), n) })
	}
	b, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer b.Close()
	return a.setLanesOn(ctx, b.JS, n)
}

// openStore opens the store of an embedded server that does not run.
func openStore(ctx context.Context, cfg bus.Config) (*bus.Bus, error) {
	if _, err := os.Stat(cfg.Embedded.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store %q does not exist, so no fleet has run here; set nats.lanes instead", cfg.Embedded.Store)
	}
	cfg.Embedded.Listen = new("")
	b, err := natsserver.Open(ctx, bus.Options{Name: "lanes", Config: cfg, Log: zerolog.Nop()})
	if errors.Is(err, lockfile.ErrLocked) {
		return nil, fmt.Errorf("stop the host first: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := b.Ready(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (a *app) setLanesOn(ctx context.Context, js jetstream.JetStream, n int) error {
	if err := delivery.SetLanes(ctx, js, n); err != nil {
		return fmt.Errorf("change lanes: %w", err)
	}
	if a.JSON {
		return a.PrintJSON(map[string]int{"lanes": n})
	}
	fmt.Fprintf(a.Stdout, "the fleet has %s now; set nats.lanes to %d before the next start\n", cli.Count(n, "lane"), n)
	return nil
}
