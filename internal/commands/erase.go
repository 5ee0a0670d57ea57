package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) eraseCommand() *cobra.Command {
	what := client.Erasure{}
	var deletion *cli.Deletion
	cmd := &cobra.Command{
		Use:   "erase --peer [CHANNEL[.INSTANCE]/]FROM",
		Short: "Erase a person from everything that is kept",
		Long: `Erase deletes all that the fleet keeps of a person: sessions, snapshots, notes, files,
dead letters, messages in and out, routes, schedules, approvals and pairings. In
sessions that others write in, such as groups, their words become [erased], and what
others said stays. What stays of them all the same is listed.

--peer is the sender as the channel names them, or route/NAME for what was sent by
route, as with agenthost send --from. Without a channel it is that sender on all
channels, which are listed before it asks. It asks for confirmation; without
a terminal it needs --force. No host needs to run. When it is interrupted, run it
again: it goes on. What it cannot reach is in the documentation on privacy.`,
		Example: `  agenthost erase --peer telegram.sales/42 --dry-run
  agenthost erase --peer telegram.sales/42 --force
  agenthost erase --peer ana --agent assistant --force --json`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if what.Peer == "" {
				return cli.Usage("say whom to erase: --peer [CHANNEL[.INSTANCE]/]FROM")
			}
			if err := what.Check(); err != nil {
				return cli.Usage("%w", err)
			}
			if what.Agent != "" {
				if err := cli.CheckAgent(what.Agent); err != nil {
					return err
				}
			}
			if !what.DryRun {
				if err := deletion.Check(); err != nil {
					return err
				}
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.erase(cmd.Context(), c, what, deletion) })
		},
	}
	cmd.Flags().StringVar(&what.Peer, "peer", "", "the `sender` to erase, such as telegram.sales/42")
	cmd.Flags().StringVar(&what.Agent, "agent", "", "only from the agent with this `id`")
	cmd.Flags().BoolVar(&what.DryRun, "dry-run", false, "only list what would be erased")
	deletion = a.Deletion(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) erase(ctx context.Context, c *client.Client, what client.Erasure, deletion *cli.Deletion) error {
	look := what
	look.DryRun = true
	found, err := c.Erase(ctx, look)
	if err != nil {
		return err
	}
	if !strings.Contains(what.Peer, "/") && len(found.Found) > 0 {
		fmt.Fprintf(a.Stderr, "%s is found as %s\n", terminal.Printable(what.Peer), terminal.Printable(strings.Join(found.Found, ", ")))
	}
	if what.Agent != "" && found.Total() == 0 { // which may be the fault of its name
		_, err := c.HostsOf(ctx, what.Agent)
		if unknown := (*client.UnknownError)(nil); errors.As(err, &unknown) {
			fmt.Fprintf(a.Stderr, "note: %s\n", terminal.Printable(err.Error()))
		}
	}
	if what.DryRun {
		return a.printErased(found)
	}
	if err := deletion.Confirm(ctx, found.Total(), "thing"); err != nil {
		return err
	}
	done, err := c.Erase(ctx, what)
	if err != nil && !errors.Is(err, client.ErrNotErased) {
		return err
	}
	return cmp.Or(a.printErased(done), err)
}

func (a *app) printErased(done client.Erased) error {
	for _, why := range done.Kept {
		fmt.Fprintf(a.Stderr, "stays: %s\n", terminal.Printable(why))
	}
	switch {
	case a.JSON:
		return a.PrintJSON(done)
	case done.Total() == 0:
		fmt.Fprintf(a.Stdout, "nothing is kept of %s\n", terminal.Printable(done.Peer))
		return nil
	}
	head := "REMOVED"
	if done.DryRun {
		head = "WOULD BE REMOVED"
	}
	t := a.Table(head, "")
	for _, kind := range client.ErasedKinds() {
		if n := done.Counts[kind]; n > 0 {
			t.Row(strings.ReplaceAll(kind, "_", " "), n)
		}
	}
	return t.Write(a.Stdout)
}
