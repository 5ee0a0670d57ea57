package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"
)

func (a *app) sessionsReplayCommand() *cobra.Command {
	var r eval.Rerun
	cmd := a.oneSession(&cobra.Command{
		Use:   "replay AGENT KEY",
		Short: "Replay a session, as it was or with another model",
		Long: `Replay drives the runs of a session again with what came from outside, as the
log has it, and fails at the first event that comes out otherwise. With --model
that model of the configuration answers what each run has asked, and its answer
is shown beside the recorded one. It gets the recorded results of the tools that
it calls as the run did, and an error for any other. Nothing is called but the
model, and nothing is published or written.

With --at, a place of the export, all up to there stays as it was recorded, and
the model answers from the next call on, to the end of that run.

The model is called from here, not by a host: what it costs is shown at the end
and counts in no budget. A replay in the console counts.`,
		Example: `  agenthost sessions replay assistant web/dm/ana
  agenthost sessions replay assistant web/dm/ana --model spare -c agenthost.yaml
  agenthost sessions replay assistant web/dm/ana --model spare --at 412.3`,
	}, func(ctx context.Context, s *client.Sessions, agent, sid string) error {
		r.Agent = agent
		if err := replayable(r); err != nil {
			return err
		}
		facts, err := a.allEvents(ctx, s, agent, sid, "")
		if err != nil {
			return err
		}
		if r.Model != "" {
			return a.reask(ctx, r, facts)
		}
		if err := eval.Replay(facts); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if a.JSON {
			return a.PrintJSON(map[string]any{"events": len(facts), "same": true})
		}
		fmt.Fprintf(a.Stdout, "%s, and the same state\n", cli.Count(len(facts), "event"))
		return nil
	})
	a.storeFlag(cmd)
	cmd.Flags().StringVar(&r.Model, "model", "", "ask this model of the configuration, by its `name`")
	cmd.Flags().StringVar(&r.At, "at", "", "ask it only behind this `place`, SEQ or SEQ.N of the export")
	cmd.Flags().StringVar(&r.System, "system", "", "give it this `text` in place of the agent's instructions")
	return cmd
}

// replayable finds flags that do not fit together.
func replayable(r eval.Rerun) error {
	if r.Model == "" && (r.At != "" || r.System != "") {
		return cli.Usage("--at and --system need --model; without it the whole log is replayed as it was recorded")
	}
	if err := r.Check(); err != nil {
		return cli.Usage("--at: %w", err)
	}
	return nil
}

func (a *app) reask(ctx context.Context, r eval.Rerun, facts []client.Fact) error {
	cfg, _, err := a.Settings()
	if err != nil {
		return err
	}
	list := []eval.Comparison{}
	err = r.Of(ctx, cfg, facts, func(c eval.Comparison) error {
		list = append(list, c)
		if !a.JSON {
			a.printComparison(c, r.Model)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "no run of the session has asked a model")
		return nil
	}
	a.printReplayCost(list, r.Model)
	return nil
}

// printReplayCost says what the replay took, of which no budget knows.
func (a *app) printReplayCost(list []eval.Comparison, model string) {
	all := eval.Outcome{Priced: true}
	for _, c := range list {
		all.Input, all.Output, all.Cost = all.Input+c.Now.Input, all.Output+c.Now.Output, all.Cost+c.Now.Cost
		all.Priced = all.Priced && (c.Now.Priced || c.Now.Input+c.Now.Output == 0)
	}
	cost := "price unknown"
	if all.Priced {
		cost = client.Money(all.Cost)
	}
	cli.Say(a.Stdout, "%s was asked about %s: %d tokens in, %d out, %s; it counts in no budget\n",
		model, cli.Count(len(list), "run"), all.Input, all.Output, cost)
}

func (a *app) printComparison(c eval.Comparison, model string) {
	behind := ""
	if c.At != "" {
		behind = " behind " + c.At
	}
	fmt.Fprintf(a.Stdout, "── run %s%s: %s\n", c.Run, behind, cli.OneLine(c.Said))
	a.printOutcome("recorded", c.Then)
	a.printOutcome(model, c.Now)
}

func (a *app) printOutcome(who string, o eval.Outcome) {
	cost := ""
	if o.Priced {
		cost = ", " + client.Money(o.Cost)
	}
	cli.Say(a.Stdout, "%s (%d tokens in, %d out%s)\n", who, o.Input, o.Output, cost)
	for _, call := range o.Calls {
		fmt.Fprintf(a.Stdout, "  calls %s\n", cli.OneLine(call))
	}
	if o.Error != "" {
		fmt.Fprintf(a.Stdout, "  failed: %s\n", cli.OneLine(o.Error))
	}
	for line := range strings.Lines(o.Text) {
		fmt.Fprintf(a.Stdout, "  %s\n", strings.TrimRight(terminal.Printable(line), "\n"))
	}
}

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
	cli.Say(a.Stdout, "%d messages: %d answered alike, %d differently, %d not yet by %s; %s: %s, %d ms; %s: %s, %d ms\n",
		len(c.Pairs), same, both-same, open, c.Shadow,
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
	cli.Say(a.Stdout, "  %-*s    %d calls, %d tokens in, %d out, %s, %d ms\n", width, "", d.Calls, d.Usage.Input, d.Usage.Output, cost, d.MS)
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
