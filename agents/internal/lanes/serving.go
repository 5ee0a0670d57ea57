package lanes

import (
	"context"
	"slices"

	"agenthost/bus"
)

// Agents are those that are served, in the order of the configuration.
func (s *Set) Agents() []Agent { return s.routing.Load().agents }

// Agent is the one with that id, nil when it is not served.
func (s *Set) Agent(id string) Agent { return s.routing.Load().byID[id] }

// Up waits until every lane asks for messages, and what comes is for the agents that are bound.
func (s *Set) Up(ctx context.Context) error {
	for _, d := range *s.lanes.Load() {
		select {
		case <-d.lane.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-s.agreed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serving is how many of its lanes this host serves, and how many there are, without those
// of partitions.
func (s *Set) Serving() (serving, all int) {
	for _, d := range *s.lanes.Load() {
		if d.partition.Load() != nil {
			continue
		}
		all++
		if d.lane.Serving() {
			serving++
		}
	}
	return serving, all
}

// Serves reports whether this host serves a lane that brings messages of people or tasks
// to an agent.
func (s *Set) Serves(agent string) bool {
	if s.servesLane(agent) {
		return true
	}
	for _, d := range *s.lanes.Load() {
		if p := d.partition.Load(); p != nil && (*p).ID() == agent && d.lane.Serving() && !d.former() {
			return true
		}
	}
	return false
}

// servesLane is Serves for an agent's own lane: the host hands on to its partitions.
func (s *Set) servesLane(agent string) bool {
	lanes, n := *s.lanes.Load(), Of(agent, s.Count)
	for _, id := range []laneID{{bus.InboundStream, n}, {bus.RoutesStream, n}} {
		if d := lanes[id]; d != nil && d.lane.Serving() {
			return true
		}
	}
	return false
}

// Shares reports whether this host serves an agent's own lane, or would if anything came: of the
// hosts of a fleet one does.
func (s *Set) Shares(agent string) bool {
	return slices.Contains(s.Share().Lanes, Of(agent, s.Count))
}

// Owns reports whether this host is the one of the fleet that serves an agent: the
// first of its lanes that was ever served decides.
func (s *Set) Owns(ctx context.Context, agent string) (bool, error) {
	lanes := *s.lanes.Load()
	for _, stream := range bus.LaneStreams() {
		d := lanes[laneID{stream, Of(agent, s.Count)}]
		if d == nil {
			continue
		}
		if owner, err := d.lane.Owner(ctx); err != nil || owner != "" {
			return owner == s.Host, err
		}
	}
	return false, nil
}
