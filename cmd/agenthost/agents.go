package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) agentsCommand() *cobra.Command {
	l := &listFlags{}
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents of the running hosts, or show one",
		Long: `Agents asks the running hosts what their agents are doing. A line is one agent:
its numbers are those of all hosts together, and SERVED BY names the host that
gets its messages; in parentheses stand those that could, until one has got
some. With --json one element is one host. What was spent today, a day in UTC, is
in micro-cents in JSON. A suspect is a run that may have ended its host and waits
to be tried again.`,
		Example: `  agenthost agents
  agenthost agents --watch
  agenthost agents show assistant
  agenthost agents -s nats://10.0.0.5:4222 --json`,
	}
	l.register(a, cmd, func(ctx context.Context) error { return a.listAgents(ctx, l) })
	cmd.Args = takes()
	_ = cmd.Flags().MarkHidden("since") // agents have no age
	cmd.AddCommand(a.agentsShowCommand())
	a.configFlag(cmd)
	return cmd
}

func (a *app) listAgents(ctx context.Context, l *listFlags) error {
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
		return errNoHost
	case a.json:
		return a.printJSON(hosts)
	}
	t := a.table("AGENT", "STATE", "SESSIONS", "RUNNING", "QUEUED", "SPENT TODAY", "HEARTBEAT", "SERVED BY")
	for _, agent := range hosts.served() {
		if l.agent == "" || agent.ID == l.agent {
			t.Row(agent.ID, stated(agent.State), agent.Sessions, agent.Running, queued(agent.AgentStatus),
				spent(agent.AgentStatus), beats(agent.Heartbeat), agent.by())
		}
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	a.warnFaults(hosts)
	return nil
}

// A servedAgent is an agent with the numbers of all hosts.
type servedAgent struct {
	control.AgentStatus
	serving, could []string // hosts
}

// by names the hosts that serve it, or in parentheses those that could while it is idle.
func (s *servedAgent) by() string {
	if len(s.serving) > 0 {
		return strings.Join(s.serving, ", ")
	}
	return "(" + strings.Join(s.could, ", ") + ")"
}

// served are the agents of a fleet, in the order of the first host that has them.
func (f fleet) served() []*servedAgent {
	var list []*servedAgent
	known := map[string]*servedAgent{}
	for _, h := range f {
		for _, a := range h.Agents {
			s := known[a.ID]
			if s == nil {
				s = &servedAgent{AgentStatus: a}
				known[a.ID] = s
				list = append(list, s)
			} else {
				s.add(a)
			}
			s.could = append(s.could, h.Host)
			if a.Serving {
				s.serving = append(s.serving, h.Host)
			}
		}
	}
	return list
}

// add adds what another host says of the agent. Money and heartbeats are those
// of the fleet already.
func (s *servedAgent) add(a control.AgentStatus) {
	s.Sessions += a.Sessions
	s.Running += a.Running
	s.Queued += a.Queued
	s.Suspects += a.Suspects
	if s.State == "ready" {
		s.State = a.State
	}
}

// spent is what the agent has spent today and, with a budget for it, this month.
func spent(agent control.AgentStatus) string {
	if agent.SpentMonth == 0 {
		return control.Money(agent.SpentToday)
	}
	return control.Money(agent.SpentToday) + ", month " + control.Money(agent.SpentMonth)
}

// queued is how many messages wait, and how many runs that may have ended their host.
func queued(agent control.AgentStatus) string {
	if agent.Suspects == 0 {
		return strconv.FormatInt(agent.Queued, 10)
	}
	return fmt.Sprintf("%d, %s", agent.Queued, count(agent.Suspects, "suspect"))
}

// beats is what the heartbeats of an agent came to.
func beats(c *control.Heartbeats) string {
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
