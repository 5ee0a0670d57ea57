package main

import (
	"context"
	"fmt"
	"strings"

	"agenthost/internal/control"
	"agenthost/internal/eval"

	"github.com/spf13/cobra"
)

func (a *app) sessionsReplayCommand() *cobra.Command {
	var model string
	cmd := a.oneSession(&cobra.Command{
		Use:   "replay AGENT KEY",
		Short: "Replay a session, as it was or with another model",
		Long: `Replay drives the runs of a session again with what came from outside, as the
log has it, and fails at the first event that comes out otherwise. With --model
that model of the configuration answers what each run has asked, and its answer
is shown beside the recorded one. It gets the recorded results of the tools that
it calls as the run did, and an error for any other. Nothing is called but the
model, and nothing is published or written.`,
		Example: `  agenthost sessions replay assistant web/dm/ana
  agenthost sessions replay assistant web/dm/ana --model spare -c agenthost.yaml`,
	}, func(ctx context.Context, s *shelf, agent, sid string) error {
		facts, err := s.all(ctx, agent, sid, "")
		if err != nil {
			return err
		}
		if model != "" {
			return a.reask(ctx, agent, model, facts)
		}
		if err := eval.Replay(facts); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if a.json {
			return a.printJSON(map[string]any{"events": len(facts), "same": true})
		}
		fmt.Fprintf(a.stdout, "%s, and the same state\n", count(len(facts), "event"))
		return nil
	})
	cmd.Flags().StringVar(&model, "model", "", "ask this model of the configuration, by its `name`")
	return cmd
}

func (a *app) reask(ctx context.Context, agent, model string, facts []control.Fact) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	list := []eval.Comparison{}
	err = eval.Rerun(ctx, cfg, agent, model, facts, func(c eval.Comparison) error {
		list = append(list, c)
		if !a.json {
			a.printComparison(c, model)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "no run of the session has asked a model")
	}
	return nil
}

func (a *app) printComparison(c eval.Comparison, model string) {
	fmt.Fprintf(a.stdout, "── run %s: %s\n", c.Run, onOneLine(c.Said))
	a.printOutcome("recorded", c.Then)
	a.printOutcome(model, c.Now)
}

func (a *app) printOutcome(who string, o eval.Outcome) {
	cost := ""
	if o.Priced {
		cost = ", " + control.Money(o.Cost)
	}
	say(a.stdout, "%s (%d tokens in, %d out%s)\n", who, o.Input, o.Output, cost)
	for _, call := range o.Calls {
		fmt.Fprintf(a.stdout, "  calls %s\n", onOneLine(call))
	}
	if o.Error != "" {
		fmt.Fprintf(a.stdout, "  failed: %s\n", onOneLine(o.Error))
	}
	for line := range strings.Lines(o.Text) {
		fmt.Fprintf(a.stdout, "  %s\n", strings.TrimRight(printable(line), "\n"))
	}
}
