package sessions

import (
	"cmp"
	"context"
	"strings"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	p, l := client.SessionPage{}, &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls [AGENT]",
		Short: "List sessions, the last written first",
		Example: `  agenthost sessions ls
  agenthost sessions ls assistant --limit 20 --after 8841 --json
  agenthost sessions ls --since 2h --watch
  agenthost sessions ls --store ./data`,
		Args: cli.Takes("[AGENT]"),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		if p.Limit < 1 || p.Limit > 1000 {
			return cli.Usage("--limit %d: want 1 to 1000", p.Limit)
		}
		p.Agent, p.Since = l.Agent, l.Since.From(time.Now())
		return a.withSessions(ctx, func(s *client.Sessions) error { return a.listSessions(ctx, s, l, p) })
	})
	a.store.Register(cmd)
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "how many to list")
	cmd.Flags().Uint64Var(&p.Before, "after", 0, "continue after the page that ended with this `number`")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listSessions(ctx context.Context, s *client.Sessions, l *cli.ListFlags, p client.SessionPage) error {
	list, err := s.List(ctx, p)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list.Sessions) == 0:
		return l.None(ctx, a.App, "no sessions")
	}
	t := a.Table("AGENT", "KEY", "LAST", "MESSAGES", "SPENT", "STATE", "TITLE")
	for _, one := range list.Sessions {
		state := one.State
		switch {
		case one.State == client.OperatorSession:
			state = "taken over by " + cmp.Or(strings.Join(one.For, ", "), "an operator")
		case len(one.For) > 0:
			state += " for " + strings.Join(one.For, ", ")
		}
		title := one.Title
		if one.Fault != "" {
			state, title = "unreadable", one.Fault
		}
		t.Row(one.Agent, one.Key, cli.Time(one.At), one.Messages, client.Money(one.Spent), cli.Stated(state), title)
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if list.After > 0 {
		a.Warn("more results: run again with --after %d", list.After)
	}
	return nil
}
