package inmemory

import "time"

// maxRecent touches are worked into the idle queue at once: their moves depend
// on each other little, so the processor waits for the memory of several at a
// time. With a move at each touch, GetOrCreate of a million sessions takes 640
// ns instead of 360 (BenchmarkManager). Few enough to hold the lock for.
const maxRecent = 64

// A touch is one that the idle queue does not show yet.
type touch[V any] struct {
	entry *Entry[V]
	seen  time.Duration // as in the entry
}

// touch notes a touch of e, which was found when so many entries had been
// dropped. If any have since it does not, and reports false: e may be one. It
// reads nothing of the entry itself: that memory is slow to come, and the next
// in line for the lock would wait for it too.
func (m *Manager[V]) touch(e *Entry[V], dropped uint64) bool {
	m.mu.Lock()
	if m.dropped.Load() != dropped {
		m.mu.Unlock()
		return false
	}
	m.recent = append(m.recent, touch[V]{e, m.now()})
	if len(m.recent) == maxRecent {
		m.catchUp()
	}
	m.mu.Unlock()
	return true
}

// lock begins a critical section that acts on the idle queue, or on the state
// of an entry.
func (m *Manager[V]) lock() {
	m.mu.Lock()
	if len(m.recent) > 0 {
		m.catchUp()
	}
}

// catchUp works the recent touches into the idle queue. One of an entry in
// flight is done with: its Release is another.
func (m *Manager[V]) catchUp() {
	for _, t := range m.recent {
		if t.entry.work == 0 {
			t.entry.seen = t.seen
			m.idle.remove(t.entry)
			m.idle.push(t.entry)
		}
	}
	clear(m.recent) // lest it hold what is dropped
	m.recent = m.recent[:0]
}
