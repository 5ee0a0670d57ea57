// Package sharedids notices message ids that are used in several sessions.
package sharedids

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"agenthost/session"
)

// A Set notices when messages of different sessions have one Nats-Msg-Id. Such a
// plugin counts by chat, and loses messages: within its window a stream drops the
// second. That one no host sees, but a later one with the same id.
//
// It remembers a number of recent ids, by their hash; a newer one takes the place of
// an older. A look costs some 100 ns.
type Set struct {
	seed  maphash.Seed
	slots [slotCount]atomic.Pointer[Use]
	told  atomic.Int64 // when the last was reported, in nanoseconds
}

const (
	slotCount = 2048
	// every is how often it is reported at the most.
	every = time.Second
)

// A Use is a message that had an id.
type Use struct {
	ID      string
	Session session.Key
	Seq     uint64
}

// New makes an empty Set.
func New() *Set { return &Set{seed: maphash.MakeSeed()} }

// Look remembers use, and returns the session of another message that had its id.
func (s *Set) Look(use Use) (other session.Key, shared bool) {
	slot := &s.slots[maphash.String(s.seed, use.ID)%slotCount]
	before := slot.Load()
	if before == nil || before.ID != use.ID {
		slot.Store(&use)
		return "", false
	}
	return before.Session, before.Session != use.Session && before.Seq != use.Seq
}

// Due reports whether it is time to report one again.
func (s *Set) Due(now time.Time) bool {
	last := s.told.Load()
	return now.UnixNano()-last >= int64(every) && s.told.CompareAndSwap(last, now.UnixNano())
}
