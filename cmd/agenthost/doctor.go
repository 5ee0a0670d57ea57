package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"agenthost/internal/doctor"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var offline, quiet bool
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
  agenthost doctor --quiet
  agenthost doctor --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), offline, quiet) },
	}
	a.configFlag(cmd)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print only what is wrong, and nothing when all is well")
	cmd.Flags().BoolVar(&offline, "offline", false, "make no connection, and leave out what only others can tell")
	return cmd
}

func (a *app) doctor(ctx context.Context, offline, quiet bool) error {
	cfg, path, err := a.settings()
	d := doctor.Doctor{Config: cfg, Path: path, Fault: err, Offline: offline, Progress: a.progress()}
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
		printReport(a.stdout, a.screen(), r, quiet)
	}
	if r.Failures > 0 {
		return errReported
	}
	return nil
}

// progress shows a person how far the checks are, and takes that away at the
// end.
func (a *app) progress() func(done, total int) {
	if !isTerminal(a.stderr) {
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
			fmt.Fprintf(w, "        → %s\n", oneLine(f.Cure))
		}
	}
	if quiet && r.Warnings+r.Failures == 0 {
		return
	}
	fmt.Fprintf(w, "%d ok, %s, %s\n", r.OK, count(r.Warnings, "warning"), count(r.Failures, "failure"))
}

// told is a finding in one line. A place in a file needs no other name.
func told(f doctor.Finding) string {
	if f.Group == "config" && strings.HasPrefix(f.Text, f.About+":") {
		return oneLine(f.Text)
	}
	return oneLine(f.About + ": " + f.Text)
}

// oneLine keeps what a server said from looking like lines of ours.
func oneLine(s string) string { return printable(strings.Join(strings.Fields(s), " ")) }
