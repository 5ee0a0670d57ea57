package commands

import (
	"context"
	"fmt"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) drainCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:        "drain HOST",
		SuggestFor: []string{"stop", "shutdown"},
		Short:      "Move all that a host serves to others, and end it",
		Long: `Drain has a host end in good order, as SIGTERM does: it takes nothing new, the
other hosts go on with what it served, and runs in progress may end. Then its
process ends with 0. HOST is the name of the host, as "agenthost agents" shows it.`,
		Example: `  agenthost drain blue
  agenthost drain blue --timeout 2m`,
		Args: cli.Takes("HOST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.drain(cmd.Context(), c, args[0], timeout) })
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 90*time.Second, "how long to wait for its end")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) drain(ctx context.Context, c *client.Client, host string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.Drain(ctx, host); err != nil {
		return err
	}
	stop := a.Working("waiting for the end of " + host)
	err := c.Left(ctx, host)
	stop()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not ended within %s; it goes on ending", host, timeout)
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]string{"host": host, "state": "ended"})
	}
	fmt.Fprintf(a.Stdout, "%s has ended\n", host)
	return nil
}
