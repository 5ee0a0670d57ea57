package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"agenthost/host"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with a setup",
		Long: `Doctor looks at everything that a host needs: the configuration, keys, model
servers and the models on them, prompts and budgets of the agents, tools, NATS,
ports and the data folder. It says what is wrong, and what would cure it. It
changes nothing, calls no model, and never prints a secret.

It exits with 1 when something does not work.`,
		Example: `  agenthost doctor
  agenthost doctor -c /etc/agenthost --offline
  agenthost doctor --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), offline) },
	}
	a.configFlag(cmd)
	cmd.Flags().BoolVar(&offline, "offline", false, "make no connection, and leave out what only others can tell")
	return cmd
}

func (a *app) doctor(ctx context.Context, offline bool) error {
	cfg, path, err := a.settings()
	d := host.Doctor{Config: cfg, Path: path, Fault: err, Offline: offline, Progress: a.progress()}
	if err != nil {
		d.Config = nil
	}
	r := d.Examine(ctx)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		printReport(a.stdout, r)
	}
	if r.Failures > 0 {
		return errReported
	}
	return nil
}

// progress shows a person how far the checks are, and takes that away at the
// end.
func (a *app) progress() func(done, total int) {
	if !terminal(a.stderr) {
		return nil
	}
	return func(done, total int) {
		if done == total {
			fmt.Fprint(a.stderr, clearLine)
			return
		}
		fmt.Fprintf(a.stderr, "%s%d of %s done …", clearLine, done, count(total, "check"))
	}
}

func printReport(w io.Writer, r host.Report) {
	group := ""
	for _, f := range r.Findings {
		if f.Group != group {
			group = f.Group
			fmt.Fprintln(w, group)
		}
		fmt.Fprintf(w, "  %-4s  %s\n", f.Verdict, told(f))
		if f.Cure != "" {
			fmt.Fprintf(w, "        → %s\n", oneLine(f.Cure))
		}
	}
	fmt.Fprintf(w, "%d ok, %s, %s\n", r.OK, count(r.Warnings, "warning"), count(r.Failures, "failure"))
}

// told is a finding in one line. A place in a file needs no other name.
func told(f host.Finding) string {
	if f.Group == "config" && strings.HasPrefix(f.Text, f.About+":") {
		return oneLine(f.Text)
	}
	return oneLine(f.About + ": " + f.Text)
}

// oneLine keeps what a server said from looking like lines of ours.
func oneLine(s string) string { return printable(strings.Join(strings.Fields(s), " ")) }
