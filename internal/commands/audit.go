package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// An auditing is the flags of audit.
type auditing struct {
	agent  string
	since  cli.Age
	follow bool
}

func (a *app) auditCommand() *cobra.Command {
	w := &auditing{}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what operators have done",
		Long: `Audit lists what operators have done, the oldest first: what they approved, denied
and stopped, deleted, retried and purged, reloads, breakers, tokens and pairings;
who did it, when, and by which door: cli, api (HTTP), nats, or the subject of a
chat. With --json it is a list, with -f an object a line. No host needs to run.`,
		Example: `  agenthost audit
  agenthost audit --since 2d --agent assistant --json
  agenthost audit -f`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if w.agent != "" {
				if err := cli.CheckAgent(w.agent); err != nil {
					return err
				}
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				if w.follow {
					return a.followAudit(cmd.Context(), c, w)
				}
				return a.listAudit(cmd.Context(), c, w)
			})
		},
	}
	cmd.Flags().StringVar(&w.agent, "agent", "", "only of the agent with that `id`")
	cmd.Flags().Var(&w.since, "since", "only what is no older: a duration such as 90m or 2d, or a date")
	cmd.Flags().BoolVarP(&w.follow, "follow", "f", false, "go on with what is done from now on, until interrupted")
	a.ConfigFlag(cmd)
	return cmd
}

// read reads what is there.
func (w *auditing) read(ctx context.Context, c *client.Client) ([]client.AuditEntry, error) {
	list := []client.AuditEntry{}
	for e, err := range c.Audit(ctx, w.since.From(time.Now())) {
		if err != nil {
			return nil, err
		}
		if w.agent == "" || e.Agent == w.agent {
			list = append(list, e)
		}
	}
	return list, nil
}

func (a *app) listAudit(ctx context.Context, c *client.Client, w *auditing) error {
	list, err := w.read(ctx, c)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "nothing was done")
		return nil
	}
	t := a.Table("AT", "BY", "DOOR", "ACTION", "WHAT")
	for _, e := range list {
		row := auditRow(e)
		t.Row(terminal.Whole(row[0]), row[1], row[2], row[3], row[4])
	}
	return t.Write(a.Stdout)
}

func auditRow(e client.AuditEntry) []string {
	what := strings.Join(strings.Fields(strings.Join([]string{e.Agent, e.Session, e.Target, e.Detail}, " ")), " ")
	return []string{
		e.At.Local().Format(time.DateTime), terminal.Printable(cmp.Or(e.By, "-")), terminal.Printable(e.Door), e.Action,
		terminal.Printable(cli.OneLine(what)),
	}
}

// followAudit prints what is there and then what comes, nothing twice.
func (a *app) followAudit(ctx context.Context, c *client.Client, w *auditing) error {
	last := uint64(0)
	var failed error
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func() {
		list, err := w.read(ctx, c)
		if failed = err; err != nil {
			cancel()
			return
		}
		for _, e := range list {
			last = max(last, e.Seq)
			a.printAudit(e)
		}
		a.Warn("following; interrupt to end")
	}
	for e, err := range c.FollowAudit(following, begin) {
		switch {
		case failed != nil: // and the following was ended for it
			return failed
		case err != nil:
			return err
		case e.Seq > last && (w.agent == "" || e.Agent == w.agent):
			a.printAudit(e)
		}
	}
	return failed
}

func (a *app) printAudit(e client.AuditEntry) {
	if a.JSON {
		_ = json.NewEncoder(a.Stdout).Encode(e) // the reader may be gone
		return
	}
	cli.Say(a.Stdout, "%s\n", strings.Join(auditRow(e), "  "))
}
