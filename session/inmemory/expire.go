package inmemory

import (
	"context"
	"strconv"
	"time"
)

// A Reason says why a session was dropped from memory. There is none with the
// value 0.
type Reason uint8

// The reasons.
const (
	TTL      Reason = iota + 1 // idle too long
	Cap                        // idle longest when there were too many, or memory was short
	Deleted                    // by Delete
	Shutdown                   // Run has ended
)

// String is the reason in one lower-case word, fit for a log or a metric.
func (r Reason) String() string {
	switch r {
	case TTL:
		return "ttl"
	case Cap:
		return "cap"
	case Deleted:
		return "deleted"
	case Shutdown:
		return "shutdown"
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

const (
	sweepEvery = time.Second
	sweepBatch = 1000 // expired at a time, so that others get the lock in between
)

// Run drops sessions that have been idle for the TTL, looking once a second: an
// idle session lives for the TTL and at most two seconds. When ctx ends Run
// drops all that is left, in flight or not (so end it after the work), and
// returns nil when every OnExpire has returned. It may be called once.
func (m *Manager[V]) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		for m.sweep() == sweepBatch {
		}
		select {
		case <-ctx.Done():
			m.shutdown()
			m.calls.Wait()
			return nil
		case <-ticker.C:
		}
	}
}

// sweep drops what has expired, a batch of it at most, and returns how many it
// dropped.
func (m *Manager[V]) sweep() int {
	var gone queue[V]
	m.lock()
	defer m.mu.Unlock()
	now := time.Since(m.born)
	m.due = now + sweepEvery
	for gone.size < sweepBatch && m.idle.size > 0 && now-m.idle.first.seen >= m.ttl {
		m.dropOldest(TTL, &gone)
	}
	if gone.size > 0 {
		m.calls.Go(func() { m.expire(gone) })
	}
	return gone.size
}

// Shed drops the n sessions that have been idle longest, or as many as have been
// idle for so long.
func (m *Manager[V]) Shed(n int, idle time.Duration) {
	var gone queue[V]
	m.lock()
	now := m.now()
	for gone.size < n && m.idle.size > 0 && now-m.idle.first.seen >= idle {
		m.dropOldest(Cap, &gone)
	}
	m.unlock(gone)
}

func (m *Manager[V]) shutdown() {
	var gone queue[V]
	m.lock()
	for m.idle.size > 0 {
		m.dropOldest(Shutdown, &gone)
	}
	for e := range m.All() {
		reason := Shutdown
		if e.doomed {
			reason = Deleted
		}
		m.drop(e, reason, &gone)
	}
	m.closed = true
	m.mu.Unlock()
	m.expire(gone)
}

// dropOldest drops the session that has been idle longest.
func (m *Manager[V]) dropOldest(reason Reason, gone *queue[V]) {
	e := m.idle.first
	m.idle.remove(e)
	m.drop(e, reason, gone)
}

// drop moves a live entry that is in no queue to gone, whose OnExpire the
// caller owes once the lock is free.
func (m *Manager[V]) drop(e *Entry[V], reason Reason, gone *queue[V]) {
	m.entries.Load().Delete(e.Key)
	m.dropped.Add(1)
	m.count--
	e.reason = reason
	gone.push(e)
}

// unlock ends a critical section and pays what it owes to gone. Run waits for
// it, unless Run has ended: then the caller is the only one who does.
func (m *Manager[V]) unlock(gone queue[V]) {
	if gone.size == 0 {
		m.mu.Unlock()
		return
	}
	if !m.closed {
		m.calls.Add(1)
		defer m.calls.Done()
	}
	m.mu.Unlock()
	m.expire(gone)
}

// expire calls OnExpire for each dropped entry, the one idle longest first.
func (m *Manager[V]) expire(gone queue[V]) {
	for gone.size > 0 {
		e := gone.first
		gone.remove(e)
		m.onExpire(e.Key, e.Value, e.reason)
	}
}
