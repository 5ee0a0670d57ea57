package main

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"agenthost/host"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) approvalsAllowedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "allowed",
		Short: "List what is allowed for longer than once",
		Example: `  agenthost approvals allowed
  agenthost approvals allowed --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBuckets(cmd.Context(), a.listAllowed)
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) listAllowed(ctx context.Context, js jetstream.JetStream) error {
	list, err := host.AllAllowed(ctx, js)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(append([]host.Allowed{}, list...))
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "nothing is allowed for longer than once")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tAGENT\tSESSION\tWHAT\tBY\tSINCE")
	for _, one := range list {
		say(w, "%s\t%s\t%s\t%s\t%s\t%s\n", one.ID, one.Agent, printable(cmp.Or(one.Session, "all")), printable(one.What),
			printable(one.By), one.At.Local().Format(time.DateTime))
	}
	return w.Flush()
}

func (a *app) approvalsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Have something that is allowed asked again",
		Example: "  agenthost approvals revoke ana.all.k3v…",
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBuckets(cmd.Context(), func(ctx context.Context, js jetstream.JetStream) error {
				return a.revoke(ctx, js, args[0])
			})
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) revoke(ctx context.Context, js jetstream.JetStream, id string) error {
	was, err := host.Revoke(ctx, js, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(was)
	}
	say(a.stdout, "%s of %s is asked again\n", printable(was.What), was.Agent)
	return nil
}
