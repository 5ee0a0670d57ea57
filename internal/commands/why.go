package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
	"agenthost/internal/why"
)

func (a *app) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Trace a message, reply, run or call",
		Long: `Why traces one id: where a message was accepted, which run took it, what the models
and tools did, whom it waits for, which reply it led to, who delivered that, or why
it is a dead letter.

The id is that of a message, reply, run or call, as in logs, envelopes and
"agenthost sessions show". It is read from the streams, and no host needs to run.
Those that do are asked for runs that no stream has yet, as that of a message whose
first model call is under way. The exit code is 1 when nothing knows the id.`,
		Example: `  agenthost why tg-8841
  agenthost why 8Pq3Zk.1 --json`,
		Args: cli.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.why(cmd.Context(), c, args[0]) })
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) why(ctx context.Context, c *client.Client, id string) error {
	way, err := why.FindLive(ctx, c, id, func(n int) {
		if !a.JSON && cli.IsTerminal(a.Stderr) {
			fmt.Fprintf(a.Stderr, "\r%d messages looked at…", n)
		}
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(way)
	}
	fmt.Fprintf(a.Stdout, "%s %s: %s\n\n", way.Kind, terminal.Printable(way.ID), way.State)
	t := a.Table("AT", "WHAT", "WHO", "DETAIL")
	for _, step := range way.Steps {
		t.Row(terminal.Whole(step.At.Local().Format("2006-01-02 15:04:05.000")), step.What, stepWho(step), stepDetail(step))
	}
	return t.Write(a.Stdout)
}

// stepWho is who has done a step.
func stepWho(step why.Step) string {
	switch {
	case step.Name != "":
		return terminal.Printable(step.Name)
	case step.Host != "":
		return step.Agent + " on " + step.Host
	}
	return step.Agent
}

// stepDetail is what else there is to say of a step.
func stepDetail(step why.Step) string {
	var parts []string
	if step.ID != "" {
		parts = append(parts, step.ID)
	}
	switch step.What {
	case why.Started:
		parts = append(parts, step.Run, "session "+step.Session)
	case why.Accepted, why.Published:
		parts = append(parts, step.Subject, fmt.Sprintf("%s:%d", step.Stream, step.Seq))
	}
	if step.Detail != "" {
		parts = append(parts, step.Detail)
	}
	return terminal.Printable(strings.Join(parts, ", "))
}
