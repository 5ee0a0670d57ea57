package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) modelsCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:   "models",
			Short: "List the models of the running hosts, take one out of service and back",
			Long: `Each host notices by its own calls which models fail or are rate limited, and skips
those for a while. These commands show and change that state.`,
			Example: `  agenthost models ls
  agenthost models trip main
  agenthost models reset main`,
		},
		a.modelsListCommand(), a.modelsTripCommand(), a.modelsResetCommand(),
	)
}

func (a *app) modelsListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List models, with breaker, park, rate and what was spent today",
		Long: `Ls has a line for each model on each host. An open breaker lets no call through
until the time shown; a parked model is not called until its rate limit is over.
RATE is the configured limit. SPENT TODAY is the sum over all hosts since midnight
UTC, with --json in micro-cents. --agent leaves those that the agent may ask, by
itself or on a channel, --since those whose breaker has changed since then.`,
		Example: `  agenthost models ls
  agenthost models ls --agent assistant --watch
  agenthost models ls -s nats://10.0.0.5:4222 --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error { return a.listModels(ctx, c, l) })
	})
	cmd.Flags().Lookup("since").Usage = "only those whose breaker has changed since then: a duration such as 90m or 2d, or a date"
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) modelsTripCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trip MODEL",
		Short: "Take a model out of service on all hosts",
		Long: `Trip takes a model out of service, by its name in the configuration: calls skip
it and use the next model of their chain, until it is reset or its host restarts.
Calls in progress go on.`,
		Example: `  agenthost models trip main`,
		Args:    cli.Takes("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setBreaker(cmd.Context(), args[0], (*client.Client).TripModel)
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) modelsResetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset MODEL",
		Short:   "Take a model back into service on all hosts",
		Long:    `Reset closes the breaker of a model on all hosts and ends its park.`,
		Example: `  agenthost models reset main`,
		Args:    cli.Takes("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setBreaker(cmd.Context(), args[0], (*client.Client).ResetModel)
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listModels(ctx context.Context, c *client.Client, l *cli.ListFlags) error {
	list, err := c.Models(ctx)
	if err != nil {
		return err
	}
	if l.Agent != "" {
		list = slices.DeleteFunc(list, func(m client.HostModel) bool { return !slices.Contains(m.Agents, l.Agent) })
	}
	some := len(list) > 0
	list = slices.DeleteFunc(list, func(m client.HostModel) bool { return !l.Keeps(l.Agent, m.Since) })
	switch {
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0 && some:
		fmt.Fprintln(a.Stdout, "no breaker has changed since then")
		return nil
	case len(list) == 0 && l.Agent != "":
		return l.None(ctx, a.App, "no host has a model for "+l.Agent)
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "no host has a model")
		return nil
	}
	return a.printModels(list)
}

func (a *app) printModels(list []client.HostModel) error {
	t := a.Table("NAME", "MODEL", "BREAKER", "PARKED", "RATE", "IN FLIGHT", "WAITING", "SPENT TODAY", "HOST")
	for _, m := range list {
		t.Row(m.Name, m.FullName(), breaker(m), parked(m), rate(m), m.InFlight, m.Waiting, client.Money(m.SpentToday), m.Host)
	}
	return t.Write(a.Stdout)
}

func breaker(m client.HostModel) string {
	if m.Breaker == "open" {
		return "open until " + m.Until.Local().Format(time.TimeOnly)
	}
	return string(m.Breaker)
}

func parked(m client.HostModel) string {
	if m.Parked.IsZero() {
		return "-"
	}
	return "until " + m.Parked.Local().Format(time.TimeOnly)
}

func rate(m client.HostModel) string {
	var bounds []string
	if m.Rate.Requests > 0 {
		bounds = append(bounds, fmt.Sprintf("%d/min", m.Rate.Requests))
	}
	if m.Rate.Concurrency > 0 {
		bounds = append(bounds, fmt.Sprintf("%d at once", m.Rate.Concurrency))
	}
	if len(bounds) == 0 {
		return "-"
	}
	return strings.Join(bounds, ", ")
}

// setBreaker sets the breaker of a model on all hosts that have it, and prints
// what it has become.
func (a *app) setBreaker(ctx context.Context, name string, set func(*client.Client, context.Context, string) (client.Breaker, error)) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		b, err := set(c, ctx, name)
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.PrintJSON(b.Models)
		} else {
			a.printBreakers(b.Models)
		}
		for _, host := range b.Missed {
			a.Warn("%s did not set the breaker of %s; run the command again", host, name)
			err = errors.Join(err, cli.ErrReported)
		}
		return err
	})
}

func (a *app) printBreakers(list []client.HostModel) {
	for _, m := range list {
		cli.Say(a.Stdout, "%s on %s: %s\n", m.Name, m.Host, breaker(m))
	}
}

func (a *app) reloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reload the configuration on all hosts",
		Long: `Reload makes every running host read its configuration again, and prints what
changed. A host that finds a mistake changes nothing and reports where it is; then
the exit code is 1. Sessions use the new configuration from their
next turn.
Changes under nats and http take effect after a restart.

A host also reads its files again when they change, and on SIGHUP.`,
		Example: `  agenthost reload
  agenthost reload -s nats://10.0.0.5:4222 --json`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reload(cmd.Context()) },
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) reload(ctx context.Context) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		hosts, err := c.EveryHost(ctx)
		if err != nil {
			return err
		}
		stop := a.Working("reloading " + cli.Count(len(hosts), "host"))
		answers, err := c.Reload(ctx, hosts)
		stop()
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.PrintJSON(answers)
		} else {
			a.printReloaded(answers)
		}
		if err == nil && slices.ContainsFunc(answers, client.Reloaded.Failed) {
			return cli.ErrReported
		}
		return err
	})
}

func (a *app) printReloaded(answers []client.Reloaded) {
	for _, r := range answers {
		for _, p := range r.Refused {
			a.Warn("%s refused: %s", r.Host, terminal.Printable(p.String()))
		}
		if r.Error != "" {
			a.Warn("%s: %s", r.Host, terminal.Printable(r.Error))
		}
		if len(r.Restart) > 0 {
			a.Warn("%s needs a restart for %s", r.Host, strings.Join(r.Restart, ", "))
		}
		switch {
		case len(r.Changes) > 0:
			cli.Say(a.Stdout, "%s: %s\n", r.Host, strings.Join(r.Changes, ", "))
		case !r.Failed():
			cli.Say(a.Stdout, "%s: nothing has changed\n", r.Host)
		}
	}
}
