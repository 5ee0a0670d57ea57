package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"agenthost/host"

	"github.com/spf13/cobra"
)

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents of the running hosts",
		Long: `Agents asks the running hosts what their agents are doing. A line is one agent
on one host; with --json, one element is one host. What was spent today, a day
in UTC, is that of all hosts together; in JSON it is in micro-cents. A suspect is
a run that may have ended its host and waits to be tried again.`,
		Example: `  agenthost agents
  agenthost agents -s nats://10.0.0.5:4222 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listAgents(cmd.Context()) },
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) listAgents(ctx context.Context) error {
	nc, _, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	hosts, err := askHosts(ctx, nc)
	switch {
	case err != nil:
		return err
	case len(hosts) == 0:
		return errors.New(`no host answers; start one with "agenthost run"`)
	case a.json:
		return a.printJSON(hosts)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tSTATE\tSESSIONS\tRUNNING\tQUEUED\tSPENT TODAY\tHEARTBEAT\tHOST")
	for _, h := range hosts {
		for _, agent := range h.Agents {
			say(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", agent.ID, agent.State, agent.Sessions, agent.Running, queued(agent),
				host.Money(agent.SpentToday), beats(agent.Heartbeat), h.Host)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.warnFaults(hosts)
	return nil
}

// queued is how many messages wait, and how many runs that may have ended their host.
func queued(agent host.AgentStatus) string {
	if agent.Suspects == 0 {
		return strconv.FormatInt(agent.Queued, 10)
	}
	return fmt.Sprintf("%d, %s", agent.Queued, count(agent.Suspects, "suspect"))
}

// beats is what the heartbeats of an agent came to.
func beats(c *host.Heartbeats) string {
	if c == nil {
		return "-"
	}
	return count(int(c.Beats), "beat") + ", " + count(int(c.Calls), "call")
}

// warnFaults tells why agents are not ready, and which tools and models they
// lack.
func (a *app) warnFaults(hosts fleet) {
	for _, h := range hosts {
		for _, p := range h.Refused {
			a.warn("configuration of %s refused: %s", h.Host, printable(p.String()))
		}
		for _, fault := range h.ToolFaults {
			a.warn("tools on %s: %s", h.Host, printable(fault))
		}
		for _, m := range h.Models {
			if why := m.Away(); why != "" {
				a.warn("model %s on %s is %s", m.Name, h.Host, why)
			}
		}
		for _, agent := range h.Agents {
			if agent.Reason != "" {
				a.warn("%s on %s is %s: %s", agent.ID, h.Host, agent.State, agent.Reason)
			}
		}
	}
}
