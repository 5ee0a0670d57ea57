package main

import (
	"context"
	"fmt"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) sessionsForkCommand() *cobra.Command {
	b := control.Branching{}
	cmd := &cobra.Command{
		Use:   "fork AGENT KEY",
		Short: "Copy a session up to a given event",
		Long: `Fork makes a session of the events of another, up to a place of its export: SEQ,
a commit, or SEQ.N, one event of it. It has the key that --to names, else that
of the first with ~fork-1, ~fork-2 and so on behind it. Whoever has the id that
the key ends in goes on in it. Nothing is overwritten, and nobody is sent
anything: a run that the place cuts through is stopped in the fork.`,
		Example: `  agenthost sessions fork assistant web/dm/ana
  agenthost sessions fork assistant web/dm/ana --at 412.3 --to web/dm/test`,
		Args: takes("AGENT", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Agent, b.Session = args[0], args[1]
			if err := checkAgent(b.Agent); err != nil {
				return err
			}
			if _, err := b.Forking(); err != nil {
				return usage("%w", err)
			}
			return a.withSessions(cmd.Context(), func(s *shelf) error { return a.fork(cmd.Context(), s, b) })
		},
	}
	cmd.Flags().StringVar(&b.At, "at", "", "the last `place` to take over, SEQ or SEQ.N (default the end)")
	cmd.Flags().StringVar(&b.To, "to", "", "the `key` of the fork")
	a.configFlag(cmd)
	return cmd
}

func (a *app) fork(ctx context.Context, s *shelf, b control.Branching) error {
	f, err := b.Forking()
	if err != nil {
		return err
	}
	made, err := s.Fork(ctx, f)
	switch {
	case err != nil:
		return unknown(err, b.Agent, b.Session)
	case a.json:
		return a.printJSON(made)
	}
	fmt.Fprintf(a.stdout, "%s has the first %s of %s\n", printable(string(made.Key)), count(made.Events, "event"), printable(string(made.From)))
	return nil
}
