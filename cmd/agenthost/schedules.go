package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"agenthost/host"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) schedulesCommand() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "schedules",
			Short: "List schedules and reminders, and cancel reminders",
			Long: `What is scheduled stands in NATS and fires also while no host runs: schedules of
the configuration, and reminders that agents and people have made.`,
			Example: `  agenthost schedules ls
  agenthost schedules cancel ana remind-4j2kq7xnab`,
		},
		a.schedulesListCommand(), a.schedulesCancelCommand(),
	)
}

func (a *app) schedulesListCommand() *cobra.Command {
	agent := ""
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is due when",
		Example: `  agenthost schedules ls
  agenthost schedules ls --agent ana --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agent != "" {
				if err := checkAgent(agent); err != nil {
					return err
				}
			}
			return a.withBuckets(cmd.Context(), func(ctx context.Context, js jetstream.JetStream) error {
				return a.listSchedules(ctx, js, agent)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only of the agent with that `id`")
	a.configFlag(cmd)
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

func (a *app) listSchedules(ctx context.Context, js jetstream.JetStream, agent string) error {
	all, err := host.AllScheduled(ctx, js)
	if err != nil {
		return err
	}
	list := []scheduled{}
	for _, e := range all {
		if agent != "" && e.Agent != agent {
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
	case a.json:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "nothing is scheduled")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tNAME\tNEXT\tSPEC\tTIMEZONE\tSOURCE\tPROMPT")
	for _, s := range list {
		say(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Agent, s.Name, inZone(s.Next, s.Timezone), s.Spec, s.Timezone, s.Source, onOneLine(s.Prompt))
	}
	return w.Flush()
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
		Long:    `Cancel forgets a reminder. A schedule of the configuration is taken out there.`,
		Example: `  agenthost schedules cancel ana remind-4j2kq7xnab`,
		Args:    takes("AGENT", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAgent(args[0]); err != nil {
				return err
			}
			return a.withBuckets(cmd.Context(), func(ctx context.Context, js jetstream.JetStream) error {
				if err := host.CancelReminder(ctx, js, args[0], args[1]); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]string{"agent": args[0], "cancelled": args[1]})
				}
				fmt.Fprintf(a.stdout, "cancelled %s of %s\n", args[1], args[0])
				return nil
			})
		},
	}
	a.configFlag(cmd)
	return cmd
}
