package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) deadCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "dead",
		Short: "List, show, retry and purge dead letters",
		Long: `A dead letter is a message that could not be handled: it could not be decoded,
crashed its host too often, or could not be delivered. It is kept for 30 days.

Commands name it by NUMBER, the first column of ls and dead_seq with --json, or by
ID, there id. What is seq there is the number of its message in stream.`,
		Example: `  agenthost dead ls
  agenthost dead retry 12`,
	}, a.deadListCommand(), a.deadShowCommand(), a.deadRetryCommand(), a.deadPurgeCommand())
}

// withDeadLetters calls do with the dead letters of the fleet.
func (a *app) withDeadLetters(ctx context.Context, do func(*client.DeadLetters) error) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		letters, err := c.DeadLetters(ctx)
		if err != nil {
			return err
		}
		return do(letters)
	})
}

func (a *app) deadListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls [AGENT]",
		Short: "List the dead letters",
		Example: `  agenthost dead ls
  agenthost dead ls assistant --since 2d --json`,
		Args: cli.Takes("[AGENT]"),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.withDeadLetters(ctx, func(g *client.DeadLetters) error { return a.deadList(ctx, g, l) })
	})
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) deadList(ctx context.Context, g *client.DeadLetters, l *cli.ListFlags) error {
	list, err := g.All(ctx, l.Agent)
	list = slices.DeleteFunc(list, func(one client.DeadLetter) bool { return !l.Keeps(one.Agent, one.At) })
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		return l.None(ctx, a.App, "no dead letters")
	}
	t := a.Table("NUMBER", "AGENT", "DIED", "SUBJECT", "REASON")
	for _, l := range list {
		t.Row(l.DeadSeq, l.Agent, cli.Time(l.At), l.Subject, l.Reason)
	}
	return t.Write(a.Stdout)
}

func (a *app) deadShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NUMBER|ID",
		Short: "Show a dead letter",
		Long: `Show shows a dead letter, by NUMBER, the first column of ls and dead_seq with
--json, or by ID, there id.`,
		Example: `  agenthost dead show 12
  agenthost dead show dead:assistant:AGENT_INBOUND:62`,
		Args: cli.Takes("NUMBER|ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLetter(args[0]); err != nil {
				return err
			}
			return a.withDeadLetters(cmd.Context(), func(g *client.DeadLetters) error { return a.deadShow(cmd.Context(), g, args[0]) })
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) deadShow(ctx context.Context, g *client.DeadLetters, name string) error {
	l, err := letterOf(ctx, g, name)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(l)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"number", strconv.FormatUint(l.DeadSeq, 10)},
		{"agent", l.Agent},
		{"reason", l.Reason},
		{"code", l.Code},
		{"subject", l.Subject},
		{"from", fmt.Sprintf("%s %d", l.Stream, l.Seq)},
		{"attempts", strconv.Itoa(l.Attempts)},
		{"host", l.Host},
		{"died", l.At.Local().Format(time.DateTime)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], terminal.Printable(row[1]))
	}
	for _, key := range slices.Sorted(maps.Keys(l.Header)) {
		fmt.Fprintf(w, "header\t%s: %s\n", key, terminal.Printable(strings.Join(l.Header[key], ", ")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if l.Omitted {
		fmt.Fprintln(a.Stdout, "\nThe message is too large to be kept here; retry takes it from its stream.")
		return nil
	}
	fmt.Fprintf(a.Stdout, "\n%s\n", terminal.Printable(string(l.Data())))
	return nil
}
