package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) schedulesCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:   "schedules",
			Short: "List schedules and reminders, and cancel reminders",
			Long: `Schedules of the configuration, and reminders that agents and people have made.
They are kept in NATS and fire even while no host runs.`,
			Example: `  agenthost schedules ls
  agenthost schedules cancel ana remind-4j2kq7xnab`,
		},
		a.schedulesListCommand(), a.schedulesCancelCommand(),
	)
}

func (a *app) schedulesListCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List schedules and reminders, and when each is due",
		Example: `  agenthost schedules ls
  agenthost schedules ls --agent ana --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error { return a.listSchedules(ctx, c, l) })
	})
	cmd.Flags().Lookup("since").Usage = "only what is due later than that: a duration back from now, such as 90m or 2d, or a date"
	a.ConfigFlag(cmd)
	return cmd
}

// A scheduled is one line of the list.
type scheduled struct {
	Agent    string    `json:"agent"`
	Name     string    `json:"name"`
	Next     time.Time `json:"next"`
	Spec     string    `json:"spec"`
	Timezone string    `json:"timezone"`
	Source   string    `json:"source"` // config or reminder
	Missed   string    `json:"missed,omitempty"`
	Prompt   string    `json:"prompt"`
	To       string    `json:"to,omitempty"` // the subject of what it leads to
	By       string    `json:"by,omitempty"`
}

func (a *app) listSchedules(ctx context.Context, c *client.Client, l *cli.ListFlags) error {
	all, err := c.Schedules(ctx)
	if err != nil {
		return err
	}
	list := []scheduled{}
	for _, e := range all {
		if !l.Keeps(e.Agent, e.Next) {
			continue
		}
		one := scheduled{
			Agent: e.Agent, Name: e.Name, Next: e.Next, Spec: e.Spec.String(), Timezone: zoneName(e.Spec.Timezone),
			Source: e.Source, Missed: e.Missed, Prompt: e.Prompt, By: e.By,
		}
		if e.Origin != nil {
			one.To = e.Origin.Subject
		}
		list = append(list, one)
	}
	switch {
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		return l.None(ctx, a.App, "nothing is scheduled")
	}
	t := a.Table("AGENT", "NAME", "NEXT", "SPEC", "TIMEZONE", "SOURCE", "PROMPT")
	for _, s := range list {
		t.Row(s.Agent, s.Name, terminal.Whole(inZone(s.Next, s.Timezone)), s.Spec, s.Timezone, s.Source, s.Prompt)
	}
	return t.Write(a.Stdout)
}

func zoneName(name string) string {
	if name == "" {
		return "UTC"
	}
	return name
}

// inZone is t as the clocks of a zone show it.
func inZone(t time.Time, zone string) string {
	if loc, err := time.LoadLocation(zone); err == nil {
		t = t.In(loc)
	}
	return t.Format("2006-01-02 15:04:05 MST")
}

func (a *app) schedulesCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel AGENT NAME",
		Short:   "Cancel a reminder",
		Long:    `Cancel deletes a reminder. A schedule is removed in the configuration.`,
		Example: `  agenthost schedules cancel ana remind-4j2kq7xnab`,
		Args:    cli.Takes("AGENT", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckAgent(args[0]); err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				if err := c.CancelReminder(cmd.Context(), args[0], args[1]); err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(map[string]string{"agent": args[0], "cancelled": args[1]})
				}
				fmt.Fprintf(a.Stdout, "cancelled %s of %s\n", args[1], args[0])
				return nil
			})
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}
