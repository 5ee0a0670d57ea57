package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) shadowCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "shadow",
		Short: "Compare agents with their shadows",
		Long: `A shadow is an agent with shadow_of: it gets the messages of another agent, and
its replies are kept in its log and sent to no one.`,
		Example: `  agenthost shadow diff ana
  agenthost shadow diff ana --session web/dm/7`,
	}, a.shadowDiffCommand())
}

func (a *app) shadowDiffCommand() *cobra.Command {
	key := ""
	cmd := &cobra.Command{
		Use:   "diff AGENT",
		Short: "Show what an agent and its shadow made of the same messages",
		Long: `Diff reads the logs of an agent and of its shadow, and shows for each message
what both said, which tools they called, and what that cost. AGENT is one of
the two.`,
		Example: `  agenthost shadow diff ana
  agenthost shadow diff ana --session web/dm/7 --json`,
		Args: cli.Takes("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.shadowDiff(cmd.Context(), args[0], key) },
	}
	cmd.Flags().StringVar(&key, "session", "", "only this session, by its key such as web/dm/7")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) shadowDiff(ctx context.Context, id, key string) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := c.EveryHost(ctx)
	if err != nil {
		return err
	}
	couples, err := couples(hosts, id)
	if err != nil {
		return err
	}
	var all []comparison
	for _, one := range couples {
		one.Pairs, err = eval.ShadowDiff(ctx, c.JetStream(), one.Agent, one.Shadow, key)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	for _, c := range all {
		a.printCouple(c)
	}
	return nil
}

// A comparison is of an agent and one shadow of it.
type comparison struct {
	Agent  string      `json:"agent"`
	Shadow string      `json:"shadow"`
	Pairs  []eval.Pair `json:"messages"`
}

// couples are id and its shadows, or id and what it is the shadow of.
func couples(hosts client.Fleet, id string) ([]comparison, error) {
	var list []comparison
	for _, h := range hosts {
		for _, a := range h.Agents {
			c := comparison{Agent: a.ShadowOf, Shadow: a.ID}
			known := slices.ContainsFunc(list, func(other comparison) bool { return other.Shadow == a.ID })
			if a.ShadowOf != "" && !known && (a.ID == id || a.ShadowOf == id) {
				list = append(list, c)
			}
		}
	}
	switch ids := hosts.Agents(); {
	case len(list) > 0:
		return list, nil
	case len(hosts) == 0:
		return nil, client.ErrNoHost
	case !slices.Contains(ids, id):
		return nil, &client.UnknownError{What: "agent", Name: id, Known: ids}
	}
	return nil, fmt.Errorf("agent %q has no shadow and is not one; give another agent shadow_of: %s", id, id)
}

func (a *app) printCouple(c comparison) {
	width := max(len(c.Agent), len(c.Shadow))
	same, open := 0, 0
	var left, right eval.AgentRun
	for _, p := range c.Pairs {
		cli.Say(a.Stdout, "%s  %s  %s\n", terminal.Printable(p.Session), terminal.Printable(p.Input), brief(p.Text))
		a.printDeed(c.Agent, width, &p.Agent)
		a.printDeed(c.Shadow, width, p.Shadow)
		switch {
		case p.Shadow == nil:
			open++
			continue
		case p.Same:
			same++
		}
		left.Cost, right.Cost = left.Cost+p.Agent.Cost, right.Cost+p.Shadow.Cost
		left.MS, right.MS = left.MS+p.Agent.MS, right.MS+p.Shadow.MS
	}
	both := len(c.Pairs) - open
	cli.Say(a.Stdout, "%s: %d answered alike, %d differently, %d not yet by %s; %s: %s, %d ms; %s: %s, %d ms\n",
		cli.Count(len(c.Pairs), "message"), same, both-same, open, c.Shadow,
		c.Agent, client.Money(left.Cost), left.MS, c.Shadow, client.Money(right.Cost), right.MS)
}

func (a *app) printDeed(who string, width int, d *eval.AgentRun) {
	if d == nil {
		cli.Say(a.Stdout, "  %-*s  nothing yet\n", width, who)
		return
	}
	cost := client.Money(d.Cost)
	if !d.Priced {
		cost = "price unknown"
	}
	cli.Say(a.Stdout, "  %-*s  %s\n", width, who, brief(d.Answer))
	for _, t := range d.Tools {
		cli.Say(a.Stdout, "  %-*s    %s %s: %s\n", width, "", terminal.Printable(t.Name), brief(string(t.Args)), brief(t.Result))
	}
	cli.Say(a.Stdout, "  %-*s    %s, %d tokens in, %d out, %s, %d ms\n", width, "", cli.Count(d.Calls, "call"), d.Usage.Input, d.Usage.Output, cost, d.MS)
}

// brief is a text in one line that is not too long for one.
func brief(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(terminal.Printable(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
