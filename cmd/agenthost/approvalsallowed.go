package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"agenthost/internal/control"

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
	list, err := control.AllAllowed(ctx, js)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(append([]control.Allowed{}, list...))
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "no standing approvals")
		return nil
	}
	t := a.table("ID", "AGENT", "SESSION", "WHAT", "BY", "SINCE")
	for _, one := range list {
		t.Row(one.ID, one.Agent, cmp.Or(one.Session, "all"), one.What, one.By, one.At.Local().Format(time.DateTime))
	}
	return t.Write(a.stdout)
}

func (a *app) approvalsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a standing approval",
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
	known, err := liveAllowed(ctx, nil, js, "")
	if err != nil {
		return fmt.Errorf("revoke %q: %w", id, err)
	}
	whole, err := resolve("id", id, known)
	if err != nil {
		return err
	}
	was, err := control.Revoke(ctx, js, cmp.Or(whole, id))
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(was)
	}
	say(a.stdout, "%s of %s is asked again\n", printable(was.What), was.Agent)
	return nil
}
