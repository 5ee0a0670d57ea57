package commands

import (
	"fmt"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) pauseCommand() *cobra.Command {
	var reason string
	var target pauseFlags
	cmd := &cobra.Command{
		Use:   "pause [AGENT]",
		Short: "Let nothing new start for an agent, a channel or all",
		Long: `Pause lets nothing new start on any host: for one agent, for what comes by one
channel, or for all. Everything that comes is kept and begins, in its order, with
"agenthost resume". Runs under way go on; they can be stopped, and what they ask
can be answered. A pause outlives hosts. No host needs to run.

Without an argument it lists what is paused.`,
		Example: `  agenthost pause assistant --reason "the shop moves"
  agenthost pause --channel telegram.sales
  agenthost pause --all
  agenthost pause`,
		Args: cli.Takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := target.of(args)
			if err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				if t == nil {
					return a.listPauses(cmd, c)
				}
				p, err := c.Pause(cmd.Context(), client.Pause{Target: *t, By: cli.Operator(), Reason: reason})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(p)
				}
				fmt.Fprintf(a.Stdout, "paused %s; \"agenthost resume %s\" lets it go on\n", p, t.Argument())
				if warning := c.PauseWarning(cmd.Context(), *t); warning != "" {
					fmt.Fprintf(a.Stderr, "warning: %s\n", warning)
				}
				return nil
			})
		},
	}
	target.register(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var target pauseFlags
	cmd := &cobra.Command{
		Use:   "resume [AGENT]",
		Short: "End a pause",
		Long:  "Resume ends a pause: what was kept begins, in its order. No host needs to run.",
		Example: `  agenthost resume assistant
  agenthost resume --channel telegram.sales
  agenthost resume --all`,
		Args: cli.Takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := target.of(args)
			if err == nil && t == nil {
				err = cli.Usage("what is to go on? Name an agent, --channel or --all; \"agenthost pause\" lists what is paused")
			}
			if err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				if err := c.Resume(cmd.Context(), *t); err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(t)
				}
				fmt.Fprintf(a.Stdout, "resumed %s\n", t)
				return nil
			})
		},
	}
	target.register(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

// pauseFlags say what is paused.
type pauseFlags struct {
	channel string
	all     bool
}

func (f *pauseFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.channel, "channel", "", "what comes by this channel, such as telegram or telegram.sales")
	cmd.Flags().BoolVar(&f.all, "all", false, "all agents")
}

// of is what is meant; nil: nothing is named.
func (f *pauseFlags) of(args []string) (*client.PauseTarget, error) {
	t := client.PauseTarget{Channel: f.channel, All: f.all}
	if len(args) > 0 {
		t.Agent = args[0]
	}
	named := 0
	for _, is := range []bool{t.Agent != "", t.Channel != "", f.all} {
		if is {
			named++
		}
	}
	switch named {
	case 0:
		return nil, nil //nolint:nilnil // nothing is named, which is no fault
	case 1:
		return &t, nil
	}
	return nil, cli.Usage("name one of an agent, --channel and --all")
}

func (a *app) listPauses(cmd *cobra.Command, c *client.Client) error {
	list, err := c.Pauses(cmd.Context())
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "nothing is paused")
		return nil
	}
	t := a.Table("PAUSED", "BY", "SINCE", "REASON")
	for _, p := range list {
		t.Row(p.String(), p.By, cli.Time(p.Since), p.Reason)
	}
	return t.Write(a.Stdout)
}
