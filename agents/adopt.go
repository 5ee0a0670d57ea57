package agents

import (
	"context"
	"fmt"
	"maps"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// adoptLanes begins to serve the lanes that no host serves: the last agents in them
// were removed while no host ran, and what was still to be answered is in no other.
func (f *Fleet) adoptLanes(ctx context.Context) error {
	for _, name := range bus.LaneStreams() {
		stream, err := f.js.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", name, err)
		}
		lanes, err := delivery.UnservedLanes(ctx, stream, f.count)
		if err != nil {
			return fmt.Errorf("look for lanes of %s: %w", name, err)
		}
		for _, n := range lanes {
			f.adopt(laneID{name, n})
		}
	}
	return nil
}

func (f *Fleet) adopt(id laneID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lanes := maps.Clone(*f.lanes.Load())
	if f.beginOn == nil || lanes[id] != nil {
		return
	}
	lanes[id] = f.feeder(id, nil)
	f.lanes.Store(&lanes)
	f.beginOn(lanes[id])
	lanes[id].log.Info().Msg("adopt lane: no host serves it, as none of its agents is configured any more")
}
