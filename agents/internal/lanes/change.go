package lanes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// ErrNotServing means that a set of lanes does not run, or is about to end.
var ErrNotServing = errors.New("the host does not serve just now")

// Change makes agents all that is served; changes are what gives those that
// stay other settings. What is stored by when it returns is for the agents that
// were bound to it before, what comes later for those that are now, on all hosts
// of the fleet. An agent that is gone finishes its runs, answers what waits behind
// them with an error, and then its runtime ends. That NATS is away is waited for until ctx ends. One Change at a time.
func (s *Set) Change(ctx context.Context, agents []Agent, changes []func()) error {
	before := s.routing.Load().bindings()
	if !s.open(agents, changes) {
		return ErrNotServing
	}
	claimed := s.claim(ctx, s.claims(agents)) // first, so that nothing falls between two lanes
	m, wait, err := s.agree(ctx, before, newRouting(agents, s.Count, nil).bindings())
	if err != nil {
		m, wait = s.routing.Load().moves, 0
	}
	s.route(func(v *routing) *routing { return newRouting(agents, s.Count, m).leaving(v) })
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	s.route(func(v *routing) *routing { return newRouting(agents, s.Count, v.moves) })
	s.stopOthers(agents)
	for _, a := range agents {
		if s.servesLane(a.ID()) {
			a.Agree()
		}
	}
	return errors.Join(claimed, err)
}

// open makes changes, and begins what has to run for agents.
func (s *Set) open(agents []Agent, changes []func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service == nil {
		return false
	}
	for _, c := range changes {
		c()
	}
	for _, r := range agents {
		if s.stoppers[r] == nil {
			s.stoppers[r] = s.service.runAgent(r)
		}
	}
	lanes := maps.Clone(*s.lanes.Load())
	for id, subjects := range s.claims(agents) {
		if lanes[id] == nil {
			lanes[id] = s.feeder(id, subjects)
			s.service.runLane(lanes[id])
		}
	}
	for _, r := range agents {
		if known, ok := s.layouts[r.ID()]; ok {
			r.Divided(known.revision, known.layout)
		}
		s.divide(r, lanes)
	}
	s.lanes.Store(&lanes)
	return true
}

// claim has the lanes take more. What no agent is bound to any more they go on to
// take: another host may still need it.
func (s *Set) claim(ctx context.Context, claims map[laneID][]string) error {
	var errs []error
	for id, subjects := range claims {
		errs = append(errs, (*s.lanes.Load())[id].lane.Claim(ctx, subjects))
	}
	return errors.Join(errs...)
}

// route goes over to another routing.
func (s *Set) route(change func(*routing) *routing) {
	for {
		v := s.routing.Load()
		if s.routing.CompareAndSwap(v, change(v)) {
			break
		}
	}
	for _, d := range *s.lanes.Load() {
		d.retry()
	}
}

func (s *Set) stopOthers(agents []Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.stoppers {
		if !slices.Contains(agents, r) {
			r.Retire()
			delete(s.stoppers, r)
		}
	}
}
