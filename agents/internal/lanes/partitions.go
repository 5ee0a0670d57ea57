package lanes

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// A partition of an agent is an agent for a part of its sessions. The host that serves the
// agent's own lane hands on to it what is for one of these, by a lane of its own, which any
// host may serve.

// layoutPrefix begins the keys in bus.LanesBucket that say what an agent is divided into.
const layoutPrefix = "partitions."

// LayoutKey is where the hosts of a fleet agree on how an agent is divided.
func LayoutKey(agent string) string { return layoutPrefix + agent }

// PartitionLane is the durable consumer that brings a partition what is for it.
func PartitionLane(agent string, number int) string {
	return "part-" + agent + "-" + strconv.Itoa(number)
}

// firstPartition is beyond the numbers of lanes that agents share.
const firstPartition = 1 << 20

// laneOfPartition is the number of its lane: the same on all hosts, whatever agents they
// know.
func laneOfPartition(agent string, number int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(bus.PartSubject(agent, number))) // never fails
	return firstPartition + int(h.Sum64()>>12)
}

// isPartition reports whether a lane is that of a partition.
func isPartition(lane int) bool { return lane >= firstPartition }

// partition makes the lane of a partition.
func (s *Set) partition(p Agent, number int) (laneID, *feeder) {
	id := laneID{bus.RoutesStream, laneOfPartition(p.ID(), number)}
	cfg := delivery.LaneConfig{
		Stream: id.stream, Name: PartitionLane(p.ID(), number), Filters: []string{bus.PartSubject(p.ID(), number)},
		Host: s.Host, Brake: s.Brake, HandedOn: true,
	}
	f := s.feed(id, cfg, p)
	f.number = number
	return id, f
}

// former reports whether a lane is that of a partition that the agent has no more. It is asked for
// on, and kept out of the placement.
func (f *feeder) former() bool {
	p := f.partition.Load()
	return p != nil && (*p).Former(f.number)
}

// A PartitionStatus is how a partition is served here.
type PartitionStatus struct {
	Agent     string
	Partition int
	Since     time.Time
	Lag       uint64 // messages that are not done
}

// Partitions are those that this host serves, by their agents and numbers.
func (s *Set) Partitions() (list []PartitionStatus) {
	for _, f := range *s.lanes.Load() {
		if since, p := f.lane.Since(), f.partition.Load(); p != nil && !since.IsZero() && !f.former() {
			list = append(list, PartitionStatus{(*p).ID(), f.number, since, f.lane.Lag()})
		}
	}
	slices.SortFunc(list, func(a, b PartitionStatus) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

// divide adds the lanes of an agent's partitions that lanes has not. It is called with the
// lock held.
func (s *Set) divide(a Agent, lanes map[laneID]*feeder) {
	for number, p := range a.Partitions() {
		id, f := s.partition(p, number)
		if known := lanes[id]; known != nil {
			s.renew(known, p)
			continue
		}
		lanes[id] = f
		if s.service != nil { // else Run begins with them
			f.stop = s.service.runAgent(p)
			s.service.runLane(f)
		}
	}
}

// renew has a lane feed p: the agent was removed and is back, with a runtime of its own. What the
// former partition has not begun comes again, and what it has begun ends there: until then p leaves
// those sessions alone. It is called with the lock held.
func (s *Set) renew(f *feeder, p Agent) {
	former := *f.partition.Load()
	if former == p {
		return
	}
	at := s.service
	s.noteFormer(former)
	f.partition.Store(&p)
	if at == nil {
		return
	}
	f.stop()
	f.stop = at.runAgent(p)
	at.agents.Go(func() {
		for s.noteFormer(former) && at.work.Err() == nil {
			bus.Pause(at.work, lookEvery)
		}
	})
}

// noteFormer notes the sessions that a partition is still at work on which was replaced, and
// reports whether there are any.
func (s *Set) noteFormer(former Agent) bool {
	sessions := former.Unfinished()
	s.Finishing.SetFormer(former, former.ID(), sessions)
	return len(sessions) > 0
}

// said is what a record of the fleet says.
type said struct {
	revision uint64
	layout   []byte
}

// divided takes in how the hosts of the fleet have divided an agent, and serves all of its
// partitions.
func (s *Set) divided(agent string, r said) {
	s.mu.Lock()
	s.layouts[agent] = r
	a := s.Agent(agent)
	s.mu.Unlock()
	if a == nil {
		return
	}
	a.Divided(r.revision, r.layout) // which waits for what it is handing on
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Agent(agent) != a {
		return
	}
	lanes := maps.Clone(*s.lanes.Load())
	s.divide(a, lanes)
	s.lanes.Store(&lanes)
}
