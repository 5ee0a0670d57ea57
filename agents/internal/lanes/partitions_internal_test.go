package lanes

import (
	"testing"

	"agenthost/bus"
)

// A busyAgent takes its time to go over to another number of partitions.
type busyAgent struct {
	agent
	begun, end chan struct{}
}

func (a *busyAgent) Divided(uint64, []byte) {
	close(a.begun)
	<-a.end
}

// An agent that waits for what it is handing on keeps no other lane from changing.
func TestDividedHoldsNoLock(t *testing.T) {
	a := &busyAgent{agent: agent{id: "ana"}, begun: make(chan struct{}), end: make(chan struct{})}
	s := &Set{layouts: map[string]said{}}
	s.routing.Store(newRouting([]Agent{a}, 1, nil))
	s.lanes.Store(&map[laneID]*feeder{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.divided("ana", said{})
	}()
	<-a.begun
	if s.mu.TryLock() {
		s.mu.Unlock()
	} else {
		t.Error("the lock is held while the agent waits")
	}
	close(a.end)
	<-done
}

// A lane is called in logs what NATS and people call it.
func TestLaneIsCalledByItsName(t *testing.T) {
	var p Agent = &agent{id: "ana"}
	part := &feeder{number: 3}
	part.partition.Store(&p)
	n := laneOfPartition("ana", 3)
	s := &Set{}
	s.lanes.Store(&map[laneID]*feeder{{bus.RoutesStream, n}: part, {bus.InboundStream, 1}: {}})
	for lane, want := range map[int]string{n: "part-ana-3", 1: "lane-01"} {
		if got := s.laneName(lane); got != want {
			t.Errorf("lane %d is called %s, want %s", lane, got, want)
		}
	}
}
