package commands

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) pairingsCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:   "pairings",
			Short: "List, approve and revoke who may write to agents",
			Long: `With senders: {pairing: true} in a binding, a stranger who writes is told a code,
and their messages are not handled until the code is approved. A code can be used
once, within an hour. No host needs to run.`,
			Example: `  agenthost pairings ls
  agenthost pairings approve K7QX2MBD
  agenthost pairings deny K7QX2MBD
  agenthost pairings revoke telegram.sales/42`,
		},
		a.pairingsListCommand(), a.pairingsSettleCommand(true), a.pairingsSettleCommand(false), a.pairingsRevokeCommand(),
	)
}

func (a *app) pairingsListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the open codes and who was approved",
		Example: `  agenthost pairings ls
  agenthost pairings ls --agent assistant --json
  agenthost pairings ls --watch`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error { return a.listPairings(ctx, c, l) })
	})
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listPairings(ctx context.Context, c *client.Client, l *cli.ListFlags) error {
	list, err := c.Pairings(ctx)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p client.Pairing) bool { return !l.Keeps(p.Agent, p.AskedAt) })
	switch {
	case a.JSON:
		return a.PrintJSON(append([]client.Pairing{}, list...))
	case len(list) == 0:
		return l.None(ctx, a.App, "no open codes and no approved people")
	}
	t := a.Table("PERSON", "NAME", "AGENT", "STATE", "CODE", "SINCE")
	for _, p := range list {
		state, since := "asks", p.AskedAt
		if p.Approved {
			state, since = "approved", p.ApprovedAt
		}
		t.Row(terminal.Printable(p.Person()), terminal.Printable(p.Name), p.Agent, state, p.Code, cli.Time(since))
	}
	return t.Write(a.Stdout)
}

func (a *app) pairingsSettleCommand(approve bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "approve CODE",
		Short:   "Let the person with a code write to the agent",
		Example: "  agenthost pairings approve K7QX2MBD",
		Args:    cli.Takes("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				return a.settlePairing(cmd.Context(), c, args[0], approve)
			})
		},
	}
	if !approve {
		cmd.Use, cmd.Short = "deny CODE", "Reject a code; the person may ask again after the hour"
		cmd.Example = "  agenthost pairings deny K7QX2MBD"
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) settlePairing(ctx context.Context, c *client.Client, code string, approve bool) error {
	var p client.Pairing
	var err error
	word := "denied"
	if approve {
		word = "approved"
		p, err = c.ApprovePairing(ctx, code, cli.Operator())
	} else {
		p, err = c.DenyPairing(ctx, code)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(p)
	}
	cli.Say(a.Stdout, "%s is %s for %s\n", terminal.Printable(p.Person()), word, p.Agent)
	return nil
}

func (a *app) pairingsRevokeCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "revoke PERSON",
		Short: "Revoke the approval of a person, such as telegram.sales/42",
		Example: `  agenthost pairings revoke telegram.sales/42
  agenthost pairings revoke telegram.sales/42 --agent assistant`,
		Args: cli.Takes("PERSON"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				gone, err := c.RevokePairing(cmd.Context(), agent, args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(gone)
				}
				for _, p := range gone {
					cli.Say(a.Stdout, "%s may write to %s no more\n", terminal.Printable(p.Person()), p.Agent)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only that of this `agent`")
	a.ConfigFlag(cmd)
	return cmd
}
