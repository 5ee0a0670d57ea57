package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) tokensCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:   "tokens",
			Short: "Make, list and revoke tokens for HTTP",
			Long: `Tokens let programs and people use the console and the HTTP API: admin may do all,
read looks at everything, chat talks to agents. A token is shown when it is made
and never again; NATS keeps its SHA-256. It counts on every host at once, and
revoke ends it on every host within a second. Tokens of the configuration,
http.token and http.tokens, are not among these. No host needs to run.`,
			Example: `  agenthost tokens add desk --role admin --agents assistant --expires 30d
  agenthost tokens ls
  agenthost tokens revoke desk`,
		},
		a.tokensAddCommand(), a.tokensListCommand(), a.tokensRevokeCommand(),
	)
}

func (a *app) tokensAddCommand() *cobra.Command {
	role := cli.Choice{Among: []string{"admin", "read", "chat"}}
	var agents []string
	var expires string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token and print it, this once",
		Example: `  agenthost tokens add dashboard --role read
  agenthost tokens add desk --role admin --agents assistant,sales --expires 30d`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			want := client.Token{Name: args[0], Role: client.TokenRole(role.Value), Agents: agents, By: cli.Operator()}
			if role.Value == "" {
				return cli.Usage("--role is missing; want admin, read or chat")
			}
			if cmd.Flags().Changed("expires") {
				if expires == "" {
					return cli.Usage("--expires is empty; want how long, such as 30d, or a date; leave it out for a token that never expires")
				}
				at, err := client.ParseExpiry(expires, time.Now())
				if err != nil {
					return cli.Usage("--%w", err)
				}
				want.Expires = at
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.addToken(cmd.Context(), c, want) })
		},
	}
	cmd.Flags().Var(&role, "role", "what it lets do")
	cmd.Flags().StringSliceVar(&agents, "agents", nil, "the `agents` that it is good for, with commas between them (default all)")
	cmd.Flags().StringVar(&expires, "expires", "", "the `time` after which it ends, such as 30d or 12h, or a date (default never)")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) addToken(ctx context.Context, c *client.Client, want client.Token) error {
	made, token, err := c.AddToken(ctx, want)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			client.Token
			Secret string `json:"token"`
		}{made, token})
	}
	for _, agent := range made.Agents { // which may be configured later
		a.WarnUnknown(ctx, agent)
	}
	fmt.Fprintln(a.Stdout, token)
	fmt.Fprintln(a.Stderr, "this token is not shown again; it is sent as Authorization: Bearer, or typed at /login")
	return nil
}

func (a *app) tokensListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the tokens that were made",
		Example: `  agenthost tokens ls
  agenthost tokens ls --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error {
			list, err := c.Tokens(ctx)
			if err != nil {
				return err
			}
			return a.printTokens(slices.DeleteFunc(list, func(one client.Token) bool {
				bars := len(one.Agents) > 0 && !slices.Contains(one.Agents, l.Agent)
				return l.Agent != "" && bars || !l.Keeps(l.Agent, one.MadeAt)
			}))
		})
	})
	cmd.Flags().Lookup("agent").Usage = "only those that are good for the agent with this `id`"
	cmd.Flags().Lookup("since").Usage = "only those that were made since then: a duration such as 90m or 2d, or a date"
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) printTokens(list []client.Token) error {
	switch {
	case a.JSON:
		return a.PrintJSON(append([]client.Token{}, list...))
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "no tokens")
		return nil
	}
	t := a.Table("NAME", "ROLE", "AGENTS", "MADE", "BY", "EXPIRES")
	for _, one := range list {
		agents, expires := strings.Join(one.Agents, ", "), "never"
		if agents == "" {
			agents = "all"
		}
		if !one.Expires.IsZero() {
			expires = one.Expires.Local().Format(time.DateTime)
			if time.Now().After(one.Expires) {
				expires += " (over)"
			}
		}
		t.Row(one.Name, string(one.Role), agents, cli.Time(one.MadeAt), one.By, terminal.Whole(expires))
	}
	return t.Write(a.Stdout)
}

func (a *app) tokensRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a token on every host",
		Example: "  agenthost tokens revoke desk",
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				t, err := c.RevokeToken(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(t)
				}
				fmt.Fprintf(a.Stdout, "revoked %s\n", t.Name)
				return nil
			})
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}
