package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) runsListCommand() *cobra.Command {
	l := &listFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the runs that are under way or wait",
		Long: `Ls lists the runs of all hosts from their first moment, the oldest first. PHASE is
queued (for a free slot of its agent), starting, invoking and streaming (the
model), dispatching (tools), compacting, storing, or waiting (for a person or
another agent; then its age is that of the oldest question). WAITS FOR names the
tools, or questions to people; MODEL is the entry of the configuration that is
asked, or was last.`,
		Example: `  agenthost runs ls
  agenthost runs ls --agent assistant --watch
  agenthost runs ls --json`,
		Args: takes(),
	}
	l.register(a, cmd, func(ctx context.Context) error { return a.listRuns(ctx, l) })
	a.configFlag(cmd)
	return cmd
}

// A runLine is a run of the list. The host of one that waits is the one that asked.
type runLine struct {
	control.RunStatus
	Host string `json:"host,omitempty"`
}

// waitingPhase is that of a run that waits for a person or another agent.
const waitingPhase = "waiting"

func (a *app) listRuns(ctx context.Context, l *listFlags) error {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	reports, err := askRuns(ctx, nc)
	if err != nil {
		return err
	}
	waiting, err := control.AllWaiting(ctx, js)
	if errors.Is(err, jetstream.ErrBucketNotFound) && len(reports) > 0 {
		err = nil
	}
	if err != nil {
		return hintBucket(err)
	}
	lines := slices.DeleteFunc(runLines(reports, waiting), func(r runLine) bool { return !l.keeps(r.Agent, r.Since) })
	switch {
	case a.json:
		return a.printJSON(lines)
	case len(lines) == 0:
		fmt.Fprintln(a.stdout, "no runs")
		return nil
	}
	if err := a.printRuns(lines); err != nil {
		return err
	}
	for _, r := range reports {
		if r.More > 0 {
			a.warn("%s has %s more", r.Host, count(r.More, "run"))
		}
	}
	return nil
}

func (a *app) printRuns(lines []runLine) error {
	t := a.table("AGENT", "SESSION", "PHASE", "AGE", "WAITS FOR", "MODEL", "HOST", "RUN")
	for _, r := range lines {
		t.Row(r.Agent, r.Session, stated(r.Phase), elapsed(time.Since(r.Since)), cmp.Or(strings.Join(r.For, ", "), "-"),
			cmp.Or(r.Model, "-"), cmp.Or(r.Host, "-"), cmp.Or(r.Run, "-"))
	}
	return t.Write(a.stdout)
}

// runLines joins what the hosts have under way with what waits on none, the
// oldest first.
func runLines(reports []control.RunReport, waiting []control.Waiting) []runLine {
	lines, at := []runLine{}, map[string]int{} // of each run
	for _, report := range reports {
		for _, r := range report.Runs {
			if r.Run != "" {
				at[r.Run] = len(lines)
			}
			lines = append(lines, runLine{r, report.Host})
		}
	}
	for _, w := range waiting {
		i, known := at[w.Run]
		if !known {
			i = len(lines)
			at[w.Run] = i
			lines = append(lines, runLine{control.RunStatus{
				Agent: w.Agent, Session: w.Session, Run: w.Run, Since: w.AskedAt, Phase: waitingPhase, Model: w.Model,
			}, w.Host})
		}
		if lines[i].Phase == waitingPhase {
			lines[i].add(w)
		}
	}
	slices.SortStableFunc(lines, func(a, b runLine) int { return a.Since.Compare(b.Since) })
	return lines
}

// add notes one more thing that a run waits for.
func (r *runLine) add(w control.Waiting) {
	what := w.Kind
	if w.Kind == control.ForDelegate {
		what = w.To
	}
	r.For = append(r.For, what)
	if w.AskedAt.Before(r.Since) {
		r.Since = w.AskedAt
	}
}
