package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"agenthost/host"

	"github.com/spf13/cobra"
)

func (a *app) sessionsListCommand() *cobra.Command {
	p := host.SessionPage{}
	cmd := &cobra.Command{
		Use:   "ls [AGENT]",
		Short: "List sessions, the last written first",
		Example: `  agenthost sessions ls
  agenthost sessions ls assistant --limit 20 --after 8841 --json`,
		Args: takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.Agent = args[0]
				if err := checkAgent(p.Agent); err != nil {
					return err
				}
			}
			if p.Limit < 1 || p.Limit > 1000 {
				return usage("--limit %d: want 1 to 1000", p.Limit)
			}
			return a.withSessions(cmd.Context(), func(s *shelf) error { return a.listSessions(cmd.Context(), s, p) })
		},
	}
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "how many to list")
	cmd.Flags().Uint64Var(&p.Before, "after", 0, "go on behind the page that ended with this `number`")
	a.configFlag(cmd)
	return cmd
}

func (a *app) listSessions(ctx context.Context, s *shelf, p host.SessionPage) error {
	list, err := s.List(ctx, p)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(list)
	case len(list.Sessions) == 0:
		fmt.Fprintln(a.stdout, "no sessions")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tKEY\tLAST\tMESSAGES\tSPENT\tSTATE\tTITLE")
	for _, one := range list.Sessions {
		state := one.State
		if len(one.For) > 0 {
			state += " for " + strings.Join(one.For, ", ")
		}
		title := one.Title
		if one.Fault != "" {
			state, title = "unreadable", one.Fault
		}
		say(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", one.Agent, printable(string(one.Key)), one.At.Local().Format(time.DateTime),
			one.Messages, host.Money(one.Spent), state, onOneLine(title))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if list.After > 0 {
		a.warn("there are more; go on with --after %d", list.After)
	}
	return nil
}
