package sessions

import (
	"context"

	"agenthost/client"

	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	var run string
	cmd := a.oneSession(&cobra.Command{
		Use:   "show AGENT KEY",
		Short: "Show what happened in a session",
		Long: `Show prints who said what, which tools were called with which result, who was
asked and what models took. Long texts are cut; with --json they are whole.`,
		Example: `  agenthost sessions show assistant web/dm/ana
  agenthost sessions show assistant telegram.sales/group/-100 --run 8Pq3Zk --json`,
	}, func(ctx context.Context, s *client.Sessions, agent, sid string) error {
		list, err := a.allEvents(ctx, s, agent, sid, run)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(list)
		}
		for _, f := range list {
			a.printFact(f)
		}
		return nil
	})
	a.store.Register(cmd)
	cmd.Flags().StringVar(&run, "run", "", "only the run with that `id`")
	return cmd
}
