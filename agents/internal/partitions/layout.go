package partitions

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"agenthost/session"
)

// A Layout says how an agent is divided.
type Layout struct {
	Generation int `json:"generation"`
	// Partitions is how many there are, 0 where the agent is not divided; Former how many
	// there were before.
	Partitions int `json:"partitions"`
	Former     int `json:"former"`
	// Before is how many there were at most before these two: their lanes are served on, as NATS
	// may bring again what it has lost the acknowledgement of.
	Before int `json:"before,omitempty"`
	// Settled says that the former ones have done all that they were given.
	Settled bool `json:"settled"`
}

// undivided is the layout of an agent that was never divided.
var undivided = Layout{Settled: true}

// ReadLayout reads the record of a layout.
func ReadLayout(data []byte) (l Layout, err error) {
	if err := json.Unmarshal(data, &l); err != nil {
		return undivided, err
	}
	if min(l.Partitions, l.Former, l.Before) < 0 || l.Most() > mostPartitions {
		return undivided, fmt.Errorf("%d partitions, %d before, at most %d", l.Partitions, l.Former, l.Before)
	}
	return l, nil
}

// Most is how many partitions there are or were at most: so many runtimes the agent needs.
func (l Layout) Most() int { return max(l.Partitions, l.Former, l.Before) }

// next is what follows a layout, of another number of partitions.
func (l Layout) next(generation, partitions int) Layout {
	return Layout{Generation: generation, Partitions: partitions, Former: l.Partitions, Before: l.Most()}
}

// mostPartitions bounds what a record may ask for.
const mostPartitions = 1024

// Of is the number of the partition of n that a session is in; -1: there are
// none, the agent itself works on it.
func Of(key session.Key, n int) int {
	if n == 0 {
		return -1
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % uint32(n))
}
