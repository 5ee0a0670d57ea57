package sessions

import (
	"context"
	"fmt"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) forkCommand() *cobra.Command {
	b := client.Branching{}
	cmd := &cobra.Command{
		Use:   "fork AGENT KEY",
		Short: "Copy a session up to a given event",
		Long: `Fork makes a session of the events of another, up to a place of its export: SEQ,
a commit, or SEQ.N, one event of it. It has the key that --to names, else that
of the first with ~fork-1, ~fork-2 and so on behind it. Messages with the id that
the key ends in go on in it. Nothing is overwritten and nothing is sent: a run
that the place cuts through is stopped in the fork.`,
		Example: `  agenthost sessions fork assistant web/dm/ana
  agenthost sessions fork assistant web/dm/ana --at 412.3 --to web/dm/test`,
		Args: cli.Takes("AGENT", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Agent, b.Session = args[0], args[1]
			if err := cli.CheckAgent(b.Agent); err != nil {
				return err
			}
			if _, err := b.Forking(); err != nil {
				return cli.Usage("%w", err)
			}
			return a.withSessions(cmd.Context(), func(s *client.Sessions) error { return a.fork(cmd.Context(), s, b) })
		},
	}
	cmd.Flags().StringVar(&b.At, "at", "", "the last `place` to take over, SEQ or SEQ.N (default the end)")
	cmd.Flags().StringVar(&b.To, "to", "", "the `key` of the fork")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) fork(ctx context.Context, s *client.Sessions, b client.Branching) error {
	made, err := s.Fork(ctx, b)
	switch {
	case err != nil:
		return unknown(err, b.Agent, b.Session)
	case a.JSON:
		return a.PrintJSON(made)
	}
	fmt.Fprintf(a.Stdout, "%s has the first %s of %s\n", terminal.Printable(string(made.Key)), cli.Count(made.Events, "event"), terminal.Printable(string(made.From)))
	return nil
}
