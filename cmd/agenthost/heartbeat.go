package main

import (
	"fmt"

	"agenthost/internal/eval"

	"github.com/spf13/cobra"
)

func (a *app) heartbeatCommand() *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use:   "heartbeat",
		Short: "Estimate what heartbeats cost",
		Long: `Heartbeat estimates the tokens and the money that the heartbeats of a
configuration take in a day, switched on or not, without calling any model.`,
		Example: `  agenthost heartbeat --dry-run
  agenthost heartbeat --dry-run -c /etc/agenthost --json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			if !dry {
				return usage("want --dry-run; heartbeats themselves are switched on in the configuration")
			}
			return a.estimateHeartbeats()
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "estimate what a day of heartbeats costs")
	a.configFlag(cmd)
	return cmd
}

func (a *app) estimateHeartbeats() error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	list, err := eval.HeartbeatCosts(cfg)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "no heartbeat has a prompt: none calls a model")
		return nil
	}
	t := a.table("AGENT", "ON", "EVERY", "MODEL", "CALLS/DAY", "INPUT/DAY", "OUTPUT/DAY", "DOLLARS/DAY")
	watches := false
	for _, c := range list {
		on, most := "no", ""
		if c.Enabled {
			on = "yes"
		}
		if c.Watches {
			watches, most = true, "≤ "
		}
		dollars := "price unknown"
		if c.Priced {
			dollars = fmt.Sprintf("%s%.2f", most, c.Dollars)
		}
		counted := func(n any) string { return fmt.Sprint(most, n) }
		t.Row(c.Agent, on, c.Interval, c.Model, counted(c.Calls), counted(c.Input), counted(c.Output), dollars)
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	if watches {
		fmt.Fprintln(a.stdout, "≤: a beat calls the model only when something it watches has moved.")
	}
	return nil
}
