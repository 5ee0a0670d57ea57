package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/internal/cli"
	"agenthost/internal/doctor"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"
)

func (a *app) doctorCommand() *cobra.Command {
	var offline, quiet bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with a setup",
		Long: `Doctor looks at everything that a host needs: the configuration, keys, model
servers and the models on them, prompts and budgets of the agents, tools, NATS,
ports and the data folder. It says what is wrong and how to fix it. It changes
nothing, calls no model, and never prints a secret.

It exits with 1 when something does not work.`,
		Example: `  agenthost doctor
  agenthost doctor -c /etc/agenthost --offline
  agenthost doctor --quiet
  agenthost doctor --json`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), offline, quiet) },
	}
	a.ConfigFlag(cmd)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print only problems")
	cmd.Flags().BoolVar(&offline, "offline", false, "make no connections, and skip the checks that need one")
	return cmd
}

func (a *app) doctor(ctx context.Context, offline, quiet bool) error {
	cfg, path, err := a.Settings()
	d := doctor.Doctor{Config: cfg, Path: path, Fault: err, Offline: offline, Progress: a.progress()}
	if err != nil {
		d.Config = nil
	}
	r := d.Examine(ctx)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if a.JSON {
		if err := a.PrintJSON(r); err != nil {
			return err
		}
	} else {
		printReport(a.Stdout, a.Screen(), r, quiet)
	}
	if r.Failures > 0 {
		return cli.ErrReported
	}
	return nil
}

// progress shows a person how far the checks are, and takes that away at the
// end.
func (a *app) progress() func(done, total int) {
	if !cli.IsTerminal(a.Stderr) {
		return nil
	}
	return func(done, total int) {
		if done == total {
			fmt.Fprint(a.Stderr, terminal.ClearLine)
			return
		}
		fmt.Fprintf(a.Stderr, "%s%d of %s done …", terminal.ClearLine, done, cli.Count(total, "check"))
	}
}

// verdicts are their colours.
var verdicts = map[doctor.Verdict]terminal.Style{
	doctor.VerdictOK: terminal.Green, doctor.VerdictWarn: terminal.Yellow, doctor.VerdictFail: terminal.Red,
}

// printReport prints what was found below the groups it is of; with quiet only
// what is wrong.
func printReport(w io.Writer, screen terminal.Screen, r doctor.Report, quiet bool) {
	group := ""
	for _, f := range r.Findings {
		if quiet && f.Verdict == doctor.VerdictOK {
			continue
		}
		if f.Group != group {
			group = f.Group
			fmt.Fprintln(w, screen.Paint(terminal.Bold, group))
		}
		fmt.Fprintf(w, "  %s  %s\n", screen.Paint(verdicts[f.Verdict], fmt.Sprintf("%-4s", f.Verdict)), told(f))
		if f.Cure != "" {
			fmt.Fprintf(w, "        → %s\n", cli.OneLine(f.Cure))
		}
	}
	if quiet && r.Warnings+r.Failures == 0 {
		return
	}
	fmt.Fprintf(w, "%d ok, %s, %s\n", r.OK, cli.Count(r.Warnings, "warning"), cli.Count(r.Failures, "failure"))
}

// told is a finding in one line. A place in a file needs no other name.
func told(f doctor.Finding) string {
	if f.Group == "config" && strings.HasPrefix(f.Text, f.About+":") {
		return cli.OneLine(f.Text)
	}
	return cli.OneLine(f.About + ": " + f.Text)
}

func (a *app) heartbeatCommand() *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use:   "heartbeat",
		Short: "Estimate what heartbeats cost",
		Long: `Heartbeat estimates the tokens and the money that the heartbeats of a
configuration take in a day, enabled or not, without calling any model.`,
		Example: `  agenthost heartbeat --dry-run
  agenthost heartbeat --dry-run -c /etc/agenthost --json`,
		Args: cli.Takes(),
		RunE: func(*cobra.Command, []string) error {
			if !dry {
				return cli.Usage("want --dry-run; heartbeats themselves are switched on in the configuration")
			}
			return a.estimateHeartbeats()
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "estimate what a day of heartbeats costs")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) estimateHeartbeats() error {
	cfg, _, err := a.Settings()
	if err != nil {
		return err
	}
	list, err := eval.HeartbeatCosts(cfg)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "no heartbeat has a prompt: none calls a model")
		return nil
	}
	t := a.Table("AGENT", "ON", "EVERY", "MODEL", "CALLS/DAY", "INPUT/DAY", "OUTPUT/DAY", "DOLLARS/DAY")
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
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if watches {
		fmt.Fprintln(a.Stdout, "≤: a beat calls the model only when something it watches has moved.")
	}
	return nil
}
