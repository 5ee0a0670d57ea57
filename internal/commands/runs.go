package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) runsCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "runs",
		Short:   "List and stop the runs of agents",
		Long:    "A run is what an agent does to answer a message; a session has one at a time.",
		Example: "  agenthost runs ls\n  agenthost runs abort assistant web/dm/7",
	}, a.runsListCommand(), a.runsAbortCommand())
}

// An aborting is the arguments of runs abort.
type aborting struct {
	client.Stop
	timeout time.Duration
}

func (a *app) runsAbortCommand() *cobra.Command {
	s := aborting{}
	cmd := &cobra.Command{
		Use:        "abort AGENT SESSION",
		SuggestFor: []string{"stop", "cancel", "kill"},
		Short:      "Stop the run of a session",
		Long: `Abort stops the run of a session, whether it is under way or waits for a person.
SESSION is its key, as runs ls shows it, or the beginning of it if that is unique
among the runs of the agent.

The first order lets tools in progress finish, for at most 10 s. A second one ends
the run at once.`,
		Example: `  agenthost runs abort assistant web/dm/7
  agenthost runs abort assistant telegram/group/-10012 --reason 'That is enough.'`,
		Args: cli.Takes("AGENT", "SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Agent, s.Session = args[0], args[1]
			switch {
			case s.Session == "":
				return cli.Usage("the session is empty")
			case s.By == "":
				return cli.Usage("--by is empty")
			}
			if err := cli.CheckTimeout(s.timeout); err != nil {
				return err
			}
			if err := cli.CheckAgent(s.Agent); err != nil {
				return err
			}
			return a.abort(cmd.Context(), s)
		},
	}
	cmd.Flags().StringVar(&s.Reason, "reason", "", "what the person is told")
	cmd.Flags().StringVar(&s.By, "by", cli.Operator(), "who stops it")
	cmd.Flags().DurationVar(&s.timeout, "timeout", client.OrderWithin, "how long to wait for the report of the host")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) abort(ctx context.Context, s aborting) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		done, err := c.Abort(ctx, s.Stop, s.timeout)
		if _, refused := errors.AsType[*client.RefusedError](err); refused {
			return fmt.Errorf("stop %s of %s: there is nothing to stop", done.Session, s.Agent)
		}
		words := "stopped"
		if done.Session != s.Session {
			words += " " + done.Session
		}
		switch {
		case err != nil:
			return err
		case done.Stored != "":
			a.Warn("no host took the order yet; it waits in the stream %s", done.Stored)
			return a.PrintOrder(done.Session, "stored", "the order is stored")
		}
		return a.PrintOrder(done.Session, "stopped", words)
	})
}

func (a *app) runsListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the runs that are in progress or wait",
		Long: `Ls lists the runs of all hosts from their first moment, the oldest first. PHASE is
queued (for a free slot of its agent), starting, invoking and streaming (the
model), dispatching (tools), compacting, storing, or waiting (for a person or
another agent; then its age is that of the oldest question). WAITS FOR names the
tools, or questions to people; MODEL is the entry of the configuration that is
asked, or was last.`,
		Example: `  agenthost runs ls
  agenthost runs ls --agent assistant --watch
  agenthost runs ls --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error { return a.listRuns(ctx, l) })
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listRuns(ctx context.Context, l *cli.ListFlags) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Runs(ctx)
	if err != nil {
		return err
	}
	runs := slices.DeleteFunc(list.Runs, func(r client.Run) bool { return !l.Keeps(r.Agent, r.Since) })
	switch {
	case a.JSON:
		return a.PrintJSON(runs)
	case len(runs) == 0:
		return l.None(ctx, a.App, "no runs")
	}
	if err := a.printRuns(runs); err != nil {
		return err
	}
	for _, host := range slices.Sorted(maps.Keys(list.More)) {
		a.Warn("%s has %s more", host, cli.Count(list.More[host], "run"))
	}
	return nil
}

func (a *app) printRuns(runs []client.Run) error {
	t := a.Table("AGENT", "SESSION", "PHASE", "AGE", "WAITS FOR", "MODEL", "HOST", "RUN")
	for _, r := range runs {
		t.Row(r.Agent, r.Session, cli.Stated(r.Phase), terminal.Whole(cli.Elapsed(time.Since(r.Since))), cmp.Or(strings.Join(r.For, ", "), "-"),
			cmp.Or(r.Model, "-"), cmp.Or(r.Host, "-"), cmp.Or(r.Run, "-"))
	}
	return t.Write(a.Stdout)
}
