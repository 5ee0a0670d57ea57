package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) sessionsShowCommand() *cobra.Command {
	var run string
	cmd := a.oneSession(&cobra.Command{
		Use:   "show AGENT KEY",
		Short: "Show what happened in a session",
		Long: `Show tells who said what, which tools were called with which result, who was
asked and what models took. Long texts are cut; with --json they are whole.`,
		Example: `  agenthost sessions show assistant web/dm/ana
  agenthost sessions show assistant telegram.sales/group/-100 --run 8Pq3Zk --json`,
	}, func(ctx context.Context, s *shelf, agent, sid string) error {
		list, err := s.all(ctx, agent, sid, run)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(list)
		}
		for _, f := range list {
			a.printFact(f)
		}
		return nil
	})
	a.storeFlag(cmd)
	cmd.Flags().StringVar(&run, "run", "", "only the run with that `id`")
	return cmd
}
