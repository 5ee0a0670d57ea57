package lanes

import (
	"context"
	"fmt"
	"maps"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// adoptLanes begins to serve the lanes that no host serves: the last agents in them
// were removed while no host ran, and what was still to be answered is in no other. It also
// notices that the first stream of the fleet was made again.
func (s *Set) adoptLanes(ctx context.Context) error {
	for _, name := range bus.LaneStreams() {
		stream, err := s.JS.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", name, err)
		}
		if name == bus.InboundStream {
			s.spread.belong(stream.CachedInfo().Created)
		}
		lanes, err := delivery.UnservedLanes(ctx, stream, s.Count)
		if err != nil {
			return fmt.Errorf("look for lanes of %s: %w", name, err)
		}
		for _, n := range lanes {
			s.adopt(laneID{name, n})
		}
	}
	return nil
}

func (s *Set) adopt(id laneID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := maps.Clone(*s.lanes.Load())
	if s.service == nil || lanes[id] != nil {
		return
	}
	lanes[id] = s.feeder(id, nil)
	s.lanes.Store(&lanes)
	s.service.runLane(lanes[id])
	lanes[id].log.Info().Msg("adopt lane: no host serves it, as none of its agents is configured any more")
}
