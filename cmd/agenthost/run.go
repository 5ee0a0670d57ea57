package main

import (
	"context"
	"strings"
	"time"

	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

func (a *app) runCommand() *cobra.Command {
	var name string
	var grace time.Duration
	logs := newLogFlags("info")
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve the agents of a configuration",
		Long: `Run serves the agents of a configuration until SIGINT or SIGTERM; then it lets
runs in progress end. A second signal ends it at once. Nothing is lost either
way. When the configuration changes, and on SIGHUP, it is read again and counts
from the next turn of every session on; see "agenthost reload --help". Without a
configuration it serves a demo agent.`,
		Example: `  agenthost run
  agenthost run -c /etc/agenthost --name blue
  agenthost run -s nats://10.0.0.5:4222      # join the fleet on that NATS`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if grace < 0 {
				return usage("--grace %s: want 0 or more", grace)
			}
			if a.json && logs.format.value == "auto" {
				logs.format.value = "json"
			}
			// Of the host's options zero is the default.
			opt := host.Options{Name: name, Grace: max(grace, 1), Version: version}
			return a.serve(cmd.Context(), opt, logs.logger(a.stderr, a.getenv))
		},
	}
	a.configFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name of this host in its fleet (default: the machine's)")
	cmd.Flags().DurationVar(&grace, "grace", host.DefaultGrace, "what runs in progress get when the host stops")
	logs.register(cmd)
	return cmd
}

// serve runs a host until ctx ends.
func (a *app) serve(ctx context.Context, opt host.Options, log zerolog.Logger) error {
	cfg, path, err := a.settings()
	if err != nil {
		return err
	}
	a.sayOverridden(path, log)
	if path == "" {
		a.hintModel(ctx, log)
	}
	opt.Config, opt.Path, opt.Log = cfg, path, log
	if path != "" {
		opt.Load = func() (*config.Config, error) { return a.load(path) }
	}
	h := host.New(opt)
	defer a.tuneMemory(ctx, h, log)()
	defer onHangup(func(ctx context.Context) { h.Reload(ctx, host.BySignal) })()
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
	if file.External() || a.nats.External() {
		return
	}
	for _, variable := range []string{"NATS_URL", "NATS_CONTEXT"} {
		if value := a.getenv(variable); value != "" {
			log.Info().Str("nats", value[strings.LastIndex(value, "@")+1:]). // without a password
												Msg(variable + " is set: this host uses that NATS instead of the embedded server of its configuration; unset it for the embedded one")
			return
		}
	}
}

// hintModel tells how the demo becomes something that thinks.
func (a *app) hintModel(ctx context.Context, log zerolog.Logger) {
	event := log.Info()
	if found := findModel(ctx, a.getenv); found.why != "" {
		event = event.Str("found", found.why)
	}
	event.Msg(`no agenthost.yaml here: serving "demo", which repeats what it is told; for a real model: agenthost init`)
}
