package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) sessionsListCommand() *cobra.Command {
	p, l := control.SessionPage{}, &listFlags{}
	cmd := &cobra.Command{
		Use:   "ls [AGENT]",
		Short: "List sessions, the last written first",
		Example: `  agenthost sessions ls
  agenthost sessions ls assistant --limit 20 --after 8841 --json
  agenthost sessions ls --since 2h --watch
  agenthost sessions ls --store ./data`,
		Args: takes("[AGENT]"),
	}
	l.register(a, cmd, func(ctx context.Context) error {
		if p.Limit < 1 || p.Limit > 1000 {
			return usage("--limit %d: want 1 to 1000", p.Limit)
		}
		p.Agent, p.Since = l.agent, l.since.from(time.Now())
		return a.withSessions(ctx, func(s *shelf) error { return a.listSessions(ctx, s, p) })
	})
	a.storeFlag(cmd)
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "how many to list")
	cmd.Flags().Uint64Var(&p.Before, "after", 0, "go on behind the page that ended with this `number`")
	a.configFlag(cmd)
	return cmd
}

func (a *app) listSessions(ctx context.Context, s *shelf, p control.SessionPage) error {
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
	t := a.table("AGENT", "KEY", "LAST", "MESSAGES", "SPENT", "STATE", "TITLE")
	for _, one := range list.Sessions {
		state := one.State
		if len(one.For) > 0 {
			state += " for " + strings.Join(one.For, ", ")
		}
		title := one.Title
		if one.Fault != "" {
			state, title = "unreadable", one.Fault
		}
		t.Row(one.Agent, one.Key, one.At.Local().Format(time.DateTime), one.Messages, control.Money(one.Spent), stated(state), title)
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	if list.After > 0 {
		a.warn("more results: run again with --after %d", list.After)
	}
	return nil
}
