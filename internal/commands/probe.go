package commands

import (
	"context"
	"fmt"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/probe"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// probeWithin is the default of --timeout.
const probeWithin = 10 * time.Second

func (a *app) probeCommand() *cobra.Command {
	timeout := probeWithin
	cmd := &cobra.Command{
		Use:   "probe [AGENT]",
		Short: "Send a canary through the fleet",
		Long: `Probe sends a message to an agent, or to each of them, the way a channel does: into
the stream, through the lane of the agent, into a run, and back. The run calls the
model echo, so it costs nothing. It uses no tools, hooks or notes, no person hears
of it, and its session is deleted. The times of all hops are printed.

It exits with 1 when a canary has not come back in time, and says which hop is missing.`,
		Example: `  agenthost probe
  agenthost probe ana --timeout 3s --json`,
		Args: cli.Takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.probe(cmd.Context(), c, args, timeout) })
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long a canary may take")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) probe(ctx context.Context, c *client.Client, agents []string, timeout time.Duration) error {
	hosts, err := c.Hosts(ctx)
	if err != nil {
		return err
	}
	if len(agents) == 0 {
		agents = hosts.Agents()
	}
	if len(hosts) == 0 && len(agents) == 0 {
		return client.ErrNoHost
	}
	results, failed := []probe.Result{}, false
	for _, agent := range agents {
		r, err := probe.Run(ctx, c, hosts, agent, timeout)
		if err != nil {
			return fmt.Errorf("probe %s: %w", agent, err)
		}
		results, failed = append(results, r), failed || !r.OK
		if !a.JSON {
			if err := a.printProbe(r, timeout); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		if err := a.PrintJSON(results); err != nil {
			return err
		}
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

func (a *app) printProbe(r probe.Result, timeout time.Duration) error {
	switch {
	case r.OK:
		fmt.Fprintf(a.Stdout, "%s: %s is back after %s\n", r.Agent, r.ID, r.Hops[len(r.Hops)-1].After.Round(time.Microsecond))
	case r.ID == "":
		fmt.Fprintf(a.Stdout, "%s: no canary was sent: %s\n", r.Agent, terminal.Printable(r.Reason))
		return nil
	default:
		fmt.Fprintf(a.Stdout, "%s: %s is not back after %s; missing: %s\n", r.Agent, r.ID, timeout, r.Missing)
	}
	t := a.Table("HOP", "AT", "AFTER", "DETAIL")
	for _, h := range r.Hops {
		detail := ""
		if h.What == probe.Begun && r.Host != "" {
			detail = "on " + terminal.Printable(r.Host)
		}
		t.Row(h.What, terminal.Whole(h.At.Local().Format("15:04:05.000")), h.After.Round(time.Microsecond), detail)
	}
	if r.Missing != "" {
		t.Row(r.Missing, "missing", "", terminal.Printable(r.Reason))
	}
	return t.Write(a.Stdout)
}
