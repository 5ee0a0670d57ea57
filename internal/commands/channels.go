package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) channelsCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "channels",
		Short: "List the accounts of channels",
		Long: `Channels lists the accounts of the section plugins over the whole fleet.
OWNER is the host that connects to the platform; the others stand by. STATE is
connected, connecting, reconnecting, refused (the platform does not let it in; a
try every five minutes), failed (it cannot be built), standing by (no host owns it
at the moment) or not configured (no host has it in its configuration any more; see
WAITING). IN are messages taken and OUT replies delivered since the hosts
started; WAITING are replies that are not delivered, OLDEST is the age of the first.
The chat page (web) is not among them: it has no account, so no owner, and nothing
is delivered to it; every host with plugins.web serves it, and pages read replies.
--since leaves out accounts that have been connected for longer.`,
		Example: `  agenthost channels
  agenthost channels --watch
  agenthost channels --agent assistant --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error { return a.listChannels(ctx, l) })
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listChannels(ctx context.Context, l *cli.ListFlags) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		list, err := c.Channels(ctx)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(one client.ChannelAccount) bool {
			bound := l.Agent == "" || slices.Contains(one.Agents, l.Agent)
			return !bound || !one.Connected.IsZero() && one.Connected.Before(l.Since.From(time.Now()))
		})
		switch {
		case a.JSON:
			return a.PrintJSON(list)
		case len(list) == 0:
			fmt.Fprintln(a.Stdout, "no accounts of channels; the chat page needs none")
			return nil
		}
		return a.printChannels(list)
	})
}

func (a *app) printChannels(list []client.ChannelAccount) error {
	t := a.Table("ACCOUNT", "OWNER", "STATE", "CONNECTED", "IN", "OUT", "WAITING", "OLDEST", "LAST ERROR")
	for _, one := range list {
		t.Row(one.Name(), cmp.Or(one.Owner, "-"), cli.Stated(one.State), ago(one.Connected), one.In, one.Out, one.Waiting,
			ago(one.Oldest), cmp.Or(one.Error, "-"))
	}
	return t.Write(a.Stdout)
}

// ago is how long something has been; a time that is not known has none.
func ago(at time.Time) terminal.Whole {
	if at.IsZero() {
		return "-"
	}
	return terminal.Whole(cli.Elapsed(time.Since(at)))
}
