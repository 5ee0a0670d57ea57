//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/internal/agenthost-chaos/check"
	"agenthost/internal/agenthost-chaos/history"
)

// progress prints a line every 10 s, until ctx ends.
func (h *harness) progress(ctx context.Context) {
	begun := time.Now()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			accepted, ended := h.load.Counts()
			fmt.Printf("%4.0f s: %d messages accepted, %d ended, %d open, %d faults\n",
				time.Since(begun).Seconds(), accepted, ended, len(h.load.Open()), len(h.harmedSoFar()))
		}
	}
}

// fencedLine is what a host logs when the fence has refused a commit of its.
const fencedLine = "another host has written to this session"

// table prints what a run came to.
func (h *harness) table(facts check.Facts, found check.Report, register history.Report) {
	byKind := map[string]int{}
	for _, harm := range h.harmedSoFar() {
		byKind[harm.kind]++
	}
	refused := 0
	for _, m := range h.fleet.hosts {
		refused += m.Count(fencedLine)
	}
	recovered := recoveries(h.harmedSoFar(), answers(facts), h.modelTroubles())
	fmt.Println()
	row := func(what string, format string, args ...any) {
		fmt.Printf("%-18s %s\n", what, fmt.Sprintf(format, args...))
	}
	row("seed", "%d", h.opt.seed)
	row("inputs", "%d, ends: %s", len(facts.Inputs), list(found.Ends))
	row("faults", "%d: %s", len(h.harmedSoFar()), list(byKind))
	row("runs", "%d, of which %d were begun again; %d ticks of a schedule, at most %s apart",
		found.Runs, found.Retried, found.Ticks, found.Pause)
	row("tool calls", "%d, %d effects; %d given up as their host died", found.Calls, found.Effects, found.Unknown)
	row("model calls", "%d asked, %d paid for, %d in the logs, %d in the records of the days",
		h.model.Asked.Load(), facts.Paid, sum(found.Spent)/facts.Price, sum(facts.Spent)/facts.Price)
	row("snapshots", "%d", found.Snapshots)
	row("channel account", "%d replies delivered", found.Brought)
	row("takeovers", "%d", found.Takeovers)
	row("refused commits", "%d", refused)
	row("appends", "%d stored, %d refused, %d without an answer; %d sessions linearizable, %d changes of their host",
		register.Stored, register.Refused, register.Undecided, register.Linearizable, register.Moved)
	row("slowest recovery", "%s; where the model failed as well %s", slowest(recovered, false), slowest(recovered, true))
	for _, line := range recoveryRows(recovered) {
		fmt.Println("  " + line)
	}
	row("violations", "%d", len(found.Violations))
	for _, v := range found.Violations[:min(len(found.Violations), 30)] {
		if len(v) > 600 {
			v = v[:600] + "…"
		}
		fmt.Println("  " + v)
	}
}

func sum(amounts map[string]int64) (all int64) {
	for _, amount := range amounts {
		all += amount
	}
	return all
}

func list(counts map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(words, ", ")
}
