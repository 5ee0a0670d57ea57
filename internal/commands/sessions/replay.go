package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"
)

func (a *app) replayCommand() *cobra.Command {
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
	a.store.Register(cmd)
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
