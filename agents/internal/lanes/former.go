package lanes

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// A former partition has done all that it was given when the hosts have agreed so. Then each
// host ends its lane; the last of them removes the consumer.

// runPartition runs the lane of a partition, once that of a former partition of its number
// is gone: two lanes of one host would take each other's messages.
func (v *service) runPartition(f *feeder, before <-chan struct{}) {
	ctx, rest := context.WithCancel(v.ctx)
	hold, release := context.WithCancel(v.hold)
	f.lease = lease{rest, release, make(chan struct{})}
	over := f.lease.over
	v.lanes.Go(func() {
		defer close(over)
		defer release()
		defer rest()
		if before != nil {
			<-before // which ends with the host
		}
		_ = f.lane.Run(ctx, hold)
	})
}

// end ends the lane of a former partition, and the partition when its lane brings nothing
// more. It is called with the lock held.
func (s *Set) end(id laneID, f *feeder) {
	at := s.service
	if at == nil {
		return // it does not run yet, or ends with the host
	}
	gone := make(chan struct{})
	s.ended[id] = gone
	former, stop, lease := *f.partition.Load(), f.stop, f.lease
	f.log.Info().Msg("end lane: the partition is not needed any more")
	lease.rest()
	at.lanes.Go(func() {
		defer close(gone)
		for f.lane.Held() > 0 && at.hold.Err() == nil {
			bus.Pause(at.hold, lookEvery)
		}
		lease.release()
		<-lease.over
		if err := s.removeConsumer(at.hold, f.partitionLane()); err != nil {
			f.log.Warn().Err(err).Msg("remove consumer of a former partition: failed; the next host that starts tries again")
		}
	})
	s.finish(former, stop)
}

// partitionLane is the name of its consumer.
func (f *feeder) partitionLane() string { return PartitionLane((*f.partition.Load()).ID(), f.number) }

// removeConsumer removes the consumer of a former partition, unless a host still asks it.
func (s *Set) removeConsumer(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	return delivery.RemoveUnserved(ctx, s.JS, bus.RoutesStream, name)
}

// removeLeft removes the consumers of former partitions that a host has left which died.
func (s *Set) removeLeft(ctx context.Context) {
	names, err := s.former(ctx)
	for _, name := range names {
		if err == nil {
			err = s.removeConsumer(ctx, name)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn().Err(err).Msg("remove consumers of former partitions: failed; the next host that starts tries again")
	}
}

// former are the consumers of former partitions of the agents that the fleet has divided.
func (s *Set) former(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	stream, err := s.JS.Stream(ctx, bus.RoutesStream)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", bus.RoutesStream, err)
	}
	list := stream.ConsumerNames(ctx)
	for name := range list.Name() {
		if agent, number, ok := partitionOf(name); ok && s.isFormer(agent, number) {
			names = append(names, name)
		}
	}
	return names, list.Err()
}

// isFormer reports whether the hosts have agreed that an agent has no partition of a number.
func (s *Set) isFormer(agent string, number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.Agent(agent)
	_, agreed := s.layouts[agent]
	return agreed && a != nil && number >= len(a.Partitions())
}

// partitionOf undoes PartitionLane.
func partitionOf(consumer string) (agent string, number int, ok bool) {
	rest, ok := strings.CutPrefix(consumer, "part-")
	at := strings.LastIndex(rest, "-")
	if !ok || at < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(rest[at+1:])
	return rest[:at], number, err == nil && PartitionLane(rest[:at], number) == consumer
}
