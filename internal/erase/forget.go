package erase

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/session"
)

// forget has all hosts drop what they hold in memory of what was sent by now. A pass that comes
// after it and finds nothing is the last: then there is nothing left that could be stored again.
// silent says that a host has not answered.
func (e *eraser) forget(ctx context.Context) (silent bool, err error) {
	if !e.hosts || e.opt.DryRun {
		return false, nil
	}
	order := erasure.Order{Person: e.r.person, Agent: e.opt.Agent, UpTo: map[string]uint64{}}
	order.Keys = slices.DeleteFunc(slices.Sorted(maps.Keys(e.r.keys)), func(key session.Key) bool { return e.r.person.Owns(key) })
	for _, name := range []string{bus.InboundStream, bus.RoutesStream, bus.SchedulesStream} {
		stream, err := e.js.Stream(ctx, name)
		switch {
		case err == nil:
			order.UpTo[name] = stream.CachedInfo().State.LastSeq
		case !e.absent(ctx, name, err):
			return false, fmt.Errorf("look up %s: %w", name, err)
		}
	}
	hosts, erased, err := e.fleet.Erase(ctx, order)
	if err != nil {
		return false, err
	}
	if !erased {
		e.busy++
	}
	for _, host := range hosts {
		e.kept[fmt.Sprintf("what host %s holds in memory, and may store again: it does not answer; end it, or wait until it does", host)] = true
	}
	return len(hosts) > 0, nil
}
