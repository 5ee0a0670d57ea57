package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/lockfile"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// mostLanes is what a configuration may ask for.
const mostLanes = 64

func (a *app) lanesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lanes N",
		Short: "Change the number of lanes of a stopped fleet",
		Long: `Lanes changes over how many lanes a fleet spreads its agents. Stop every host
first, and set nats.lanes to the same number before starting them again.`,
		Example: `  agenthost lanes 8
  agenthost lanes 8 -s nats://10.0.0.5:4222`,
		Args: takes("N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 || n > mostLanes {
				return usage("lanes %q: want a number from 1 to %d", args[0], mostLanes)
			}
			return a.setLanes(cmd.Context(), n)
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) setLanes(ctx context.Context, n int) error {
	cfg, named := a.namedNATS()
	if !named { // what it changes goes with the rest of a configuration
		all, _, err := a.settings()
		if err != nil {
			return err
		}
		cfg = all.NATS
	}
	if cfg.External() {
		nc, js, err := a.connect(ctx)
		if err != nil {
			return err
		}
		defer nc.Close()
		return a.setLanesOn(ctx, js, n)
	}
	b, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer b.Close()
	return a.setLanesOn(ctx, b.JS, n)
}

// openStore opens the store of an embedded server that nobody runs.
func openStore(ctx context.Context, cfg bus.Config) (*bus.Bus, error) {
	if _, err := os.Stat(cfg.Embedded.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no fleet has run here, as there is no store %q; set nats.lanes instead", cfg.Embedded.Store)
	}
	cfg.Embedded.Listen = new("")
	b, err := bus.Open(ctx, bus.Options{Name: "lanes", Config: cfg, Log: zerolog.Nop()})
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
	if a.json {
		return a.printJSON(map[string]int{"lanes": n})
	}
	fmt.Fprintf(a.stdout, "the fleet has %s now; set nats.lanes to %d before the next start\n", count(n, "lane"), n)
	return nil
}
