package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) agentsCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents of the running hosts, or show one",
		Long: `Agents lists the agents of the running hosts, one line for each, with the sums
over all hosts. SERVED BY is the host that gets the messages of the agent, or in
parentheses the hosts that could, while it is idle. SPENT TODAY counts from
midnight UTC. A suspect is a run that may have crashed its host; it is retried
alone. With --json each element is one host, and amounts are in micro-cents.`,
		Example: `  agenthost agents
  agenthost agents --watch
  agenthost agents show assistant
  agenthost agents -s nats://10.0.0.5:4222 --json`,
	}
	l.Register(a.App, cmd, func(ctx context.Context) error { return a.listAgents(ctx, l) })
	cmd.Args = cli.Takes()
	_ = cmd.Flags().MarkHidden("since") // agents have no age
	cmd.AddCommand(a.agentsShowCommand())
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listAgents(ctx context.Context, l *cli.ListFlags) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := c.Hosts(ctx)
	switch {
	case err != nil:
		return err
	case len(hosts) == 0:
		return client.ErrNoHost
	case a.JSON:
		return a.PrintJSON(hosts)
	}
	t := a.Table("AGENT", "STATE", "SESSIONS", "RUNNING", "QUEUED", "SPENT TODAY", "HEARTBEAT", "SERVED BY")
	listed := slices.DeleteFunc(hosts.Served(), func(agent *client.ServedAgent) bool { return l.Agent != "" && l.Agent != agent.ID })
	for _, agent := range listed {
		t.Row(agent.ID, cli.Stated(state(agent)), agent.Sessions, agent.Running, queued(agent.AgentStatus),
			spent(agent.AgentStatus), beats(agent.Heartbeat), servedBy(agent))
	}
	if len(listed) == 0 {
		err = l.None(ctx, a.App, "no agents")
	} else {
		err = t.Write(a.Stdout)
	}
	if err != nil {
		return err
	}
	a.warnFaults(hosts)
	return nil
}

// state is that of an agent; paused, where an operator has paused it.
func state(agent *client.ServedAgent) string {
	if agent.Paused != "" && agent.State == "ready" {
		return "paused"
	}
	return agent.State
}

// servedBy names the hosts that serve an agent, or in parentheses those that could
// while it is idle.
func servedBy(agent *client.ServedAgent) string {
	if len(agent.Serving) > 0 {
		return strings.Join(agent.Serving, ", ")
	}
	return "(" + strings.Join(agent.Able, ", ") + ")"
}

// spent is what the agent has spent today and, with a budget for it, this month.
func spent(agent client.AgentStatus) string {
	if agent.SpentMonth == 0 {
		return client.Money(agent.SpentToday)
	}
	return client.Money(agent.SpentToday) + ", month " + client.Money(agent.SpentMonth)
}

// queued is how many messages wait, and how many runs that may have ended their host.
func queued(agent client.AgentStatus) string {
	if agent.Suspects == 0 {
		return strconv.FormatInt(agent.Queued, 10)
	}
	return fmt.Sprintf("%d, %s", agent.Queued, cli.Count(agent.Suspects, "suspect"))
}

// beats is what the heartbeats of an agent came to.
func beats(c *client.Heartbeats) string {
	if c == nil {
		return "-"
	}
	return cli.Count(int(c.Beats), "beat") + ", " + cli.Count(int(c.Calls), "call")
}

// warnFaults says why agents are not ready, and which tools and models they
// lack.
func (a *app) warnFaults(hosts client.Fleet) {
	for _, h := range hosts {
		for _, p := range h.Refused {
			a.Warn("configuration of %s refused: %s", h.Host, terminal.Printable(p.String()))
		}
		for _, fault := range h.ToolFaults {
			a.Warn("tools on %s: %s", h.Host, terminal.Printable(fault))
		}
		for _, m := range h.Models {
			if why := m.Away(); why != "" {
				a.Warn("model %s on %s is %s", m.Name, h.Host, why)
			}
		}
		for _, agent := range h.Agents {
			if agent.Paused != "" {
				a.Warn("%s is paused %s", agent.ID, terminal.Printable(agent.Paused))
			}
			for _, channel := range agent.PausedChannels {
				a.Warn("%s: channel %s is paused", agent.ID, channel)
			}
			if agent.Reason != "" {
				a.Warn("%s on %s is %s: %s", agent.ID, h.Host, agent.State, agent.Reason)
			}
		}
	}
}

func (a *app) agentsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show AGENT",
		Short: "Show the prompt and the tools of an agent, as its model gets them",
		Long: `Show asks a running host what it sends to the model of an agent with each call,
besides the conversation: the system prompt and the tools that are available now.
Bindings with a prompt, models or tools of their own follow. Secrets of the
configuration are masked.`,
		Example: `  agenthost agents show assistant
  agenthost agents show assistant --json`,
		Args: cli.Takes("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckAgent(args[0]); err != nil {
				return err
			}
			return a.showAgent(cmd.Context(), args[0])
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) showAgent(ctx context.Context, agent string) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		p, err := c.Preview(ctx, agent)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.PrintJSON(p)
		}
		a.printPreview(p)
		return nil
	})
}

func (a *app) printPreview(p client.Preview) {
	screen := a.Screen()
	head := func(text string) { cli.Say(a.Stdout, "%s\n", text) }
	if p.Behavior {
		head("behavior in Go; it may ask the model")
	}
	head("model: " + strings.Join(p.Models, ", then "))
	a.printPrompt(screen, p.System, p.Tools)
	if len(p.Output) > 0 {
		fmt.Fprintf(a.Stdout, "\n%s\n%s\n", screen.Paint(terminal.Bold, "── answers keep to"), terminal.Printable(string(p.Output)))
	}
	for _, b := range p.Bindings {
		fmt.Fprintf(a.Stdout, "\n%s\n", screen.Paint(terminal.Bold, "── by "+terminal.Printable(b.Subject)))
		head("model: " + strings.Join(b.Models, ", then "))
		a.printPrompt(screen, b.System, b.Tools)
	}
}

func (a *app) printPrompt(screen terminal.Screen, system string, tools []client.PreviewTool) {
	fmt.Fprintf(a.Stdout, "\n%s\n", screen.Paint(terminal.Bold, "── system prompt, "+cli.Count(len(system), "byte")))
	if system != "" {
		cli.Say(a.Stdout, "%s\n", system)
	}
	fmt.Fprintf(a.Stdout, "\n%s\n", screen.Paint(terminal.Bold, "── "+cli.Count(len(tools), "tool")))
	for _, t := range tools {
		fmt.Fprintf(a.Stdout, "%s  %s\n", screen.Paint(terminal.Cyan, terminal.Printable(t.Name)), cli.OneLine(t.Description))
		if len(t.Schema) > 0 {
			fmt.Fprintf(a.Stdout, "    %s\n", cli.OneLine(string(t.Schema)))
		}
	}
}
