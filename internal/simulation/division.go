package simulation

import (
	"context"
	"fmt"
	"time"

	"agenthost/agents/engine"
)

// A division is how many partitions the configuration gives an agent, as each host has read it.
type division struct{ partitions []int }

// plans has what the plan sets happen at its time.
func (w *world) plans() {
	w.division.partitions = make([]int, w.plan.Hosts)
	for _, d := range w.plan.Divisions {
		for host := range w.lives {
			if d.At == 0 {
				w.division.partitions[host] = d.Partitions
				continue
			}
			w.after(d.At+time.Duration(host)*d.Lag, fmt.Sprintf("%s reads %s", hostName(host), d.Name), func() { w.divide(host, d.Partitions) })
		}
	}
	for _, s := range w.plan.Schedules {
		w.after(s.At, s.Name+" is due", func() {})
	}
}

// divide has a host read another number of partitions.
func (w *world) divide(host, partitions int) {
	w.division.partitions[host] = partitions
	if l := w.lives[host]; l != nil {
		l.reads <- partitions
	}
}

// reload has the agents go over to what the host has read, until it ends.
func (l *life) reload(ctx context.Context, fleet *engine.Fleet, runtimes []*engine.Runtime) {
	if fleet.Up(ctx) != nil {
		return
	}
	for {
		select {
		case partitions := <-l.reads:
			var changes []func()
			for _, r := range runtimes {
				changes = append(changes, func() { r.Change(l.config(r.ID(), partitions), l.kit) })
			}
			for fleet.Change(ctx, runtimes, changes) != nil && ctx.Err() == nil {
				time.Sleep(time.Second)
			}
		case <-ctx.Done():
			return
		}
	}
}
