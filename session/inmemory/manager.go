package inmemory

import (
	"cmp"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/session"

	"github.com/puzpuzpuz/xsync/v3"
)

// The default bounds of a Manager.
const (
	DefaultTTL = 30 * time.Minute
	DefaultMax = 10_000
)

// Options are the settings of a Manager. The zero value means the defaults.
type Options[V any] struct {
	TTL time.Duration // idle time after which a session is dropped; default DefaultTTL
	Max *int          // sessions in memory; default DefaultMax, 0: no bound

	// New makes the value of a new entry; nil: the zero V. It runs under the
	// manager's lock: no I/O, no call back to the manager.
	New func(session.Key) V
	// OnExpire is called once for each dropped session; nil: no call. It may
	// call the manager, and must not wait for its Run to return.
	OnExpire func(session.Key, V, Reason)
}

// A Manager holds one agent's sessions in memory. All of it is safe for
// concurrent use. Make one with NewManager; while Run goes, idle sessions
// expire.
//
// The map is read without a lock. Recency is a list under a mutex: a clock hand
// or lazily repaired ticks would spare readers the mutex, but evict the wrong
// one or now and then walk every entry. With many sessions a move in the list
// is three entries that no cache holds, so a touch is only recorded (see touch),
// and moves are made some at a time, before anything acts on the order: it is as
// exact as if each had been made at once.
//
// A touch reads no clock either: while Run goes it is stamped with the time of
// the coming sweep, which is the first that could act on it.
type Manager[V any] struct {
	newValue func(session.Key) V
	onExpire func(session.Key, V, Reason)
	born     time.Time
	dropped  atomic.Uint64 // entries so far; written with mu held

	// entries is written with mu held, and made for the first of them: most
	// agents of a large fleet have none.
	entries atomic.Pointer[xsync.MapOf[session.Key, *Entry[V]]]
	calls   sync.WaitGroup // drops whose OnExpire has not returned; grows with mu held, until closed

	mu     sync.Mutex
	ttl    time.Duration
	max    int
	count  int           // of entries
	idle   queue[V]      // live entries with no work in flight, idle-longest first
	recent []touch[V]    // of live entries, not yet in the order of idle; latest last
	due    time.Duration // the coming sweep, since born; 0: no Run goes
	closed bool          // Run has ended
}

// NewManager makes a Manager. It starts nothing: without Run the cap holds, but
// no session expires.
func NewManager[V any](opt Options[V]) *Manager[V] {
	m := &Manager[V]{
		newValue: opt.New,
		onExpire: opt.OnExpire,
		born:     time.Now(),
	}
	m.Limit(opt.TTL, opt.Max)
	if m.newValue == nil {
		m.newValue = func(session.Key) (zero V) { return zero }
	}
	if m.onExpire == nil {
		m.onExpire = func(session.Key, V, Reason) {}
	}
	return m
}

// Limit gives the Manager other bounds, as Options has them. What is beyond
// them is dropped when it is next touched or looked at.
func (m *Manager[V]) Limit(ttl time.Duration, most *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ttl, m.max = cmp.Or(ttl, DefaultTTL), DefaultMax
	if most != nil {
		m.max = *most
	}
}

// Acquire is GetOrCreate that also begins a piece of work: until its Release
// the session is neither expired nor evicted.
func (m *Manager[V]) Acquire(key session.Key) *Entry[V] { return m.access(key, true, 1) }

// GetOrCreate returns the session of key and touches it. When it is new and the
// Manager is full, the session idle longest is dropped first; if all are in
// flight there is one too many until one is released.
//
// After Run has ended a Manager keeps nothing: a new entry lives while there is
// work in flight, and its last Release (or GetOrCreate itself, where there is
// none) drops it with the reason Shutdown.
func (m *Manager[V]) GetOrCreate(key session.Key) *Entry[V] { return m.access(key, true, 0) }

// Get returns the session of key and touches it, if it is in memory.
func (m *Manager[V]) Get(key session.Key) (*Entry[V], bool) {
	e := m.access(key, false, 0)
	return e, e != nil
}

// Delete drops the session of key, and reports whether there was one. One in
// flight stays, the same for all who ask for it, until its last Release.
func (m *Manager[V]) Delete(key session.Key) bool {
	var gone queue[V]
	m.lock()
	e := m.find(key)
	switch {
	case e == nil:
	case e.work > 0:
		e.doomed = true
	default:
		m.idle.remove(e)
		m.drop(e, Deleted, &gone)
	}
	m.unlock(gone)
	return e != nil
}

// Len is the number of sessions in memory.
func (m *Manager[V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// InFlight is the number of sessions with work in flight.
func (m *Manager[V]) InFlight() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count - m.idle.size
}

// All lists the sessions in no order and without touching them. It is no
// snapshot: what comes or goes meanwhile may or may not be listed.
func (m *Manager[V]) All() iter.Seq[*Entry[V]] {
	return func(yield func(*Entry[V]) bool) {
		if entries := m.entries.Load(); entries != nil {
			entries.Range(func(_ session.Key, e *Entry[V]) bool { return yield(e) })
		}
	}
}

// find returns the entry of key, nil when there is none.
func (m *Manager[V]) find(key session.Key) *Entry[V] {
	entries := m.entries.Load()
	if entries == nil {
		return nil
	}
	e, _ := entries.Load(key)
	return e
}

// access finds or makes the entry of key, begins work pieces of work on it and
// touches it. It returns nil when there is none and none is to be made.
func (m *Manager[V]) access(key session.Key, create bool, work int32) *Entry[V] {
	dropped := m.dropped.Load()
	e := m.find(key) // the costly part, before the lock
	if e != nil && work == 0 && m.touch(e, dropped) {
		return e
	}
	var gone queue[V]
	m.lock()
	if e == nil || e.reason != 0 { // or so it was a moment ago
		e = m.find(key)
	}
	if e == nil && create {
		e = m.insert(key, &gone)
	}
	if e != nil {
		if e.work == 0 {
			m.idle.remove(e)
		}
		e.work += work
		m.settle(e, &gone)
	}
	m.unlock(gone)
	return e
}

// insert makes room and a new entry, idle so far.
func (m *Manager[V]) insert(key session.Key, gone *queue[V]) *Entry[V] {
	for m.max > 0 && m.count >= m.max && m.idle.size > 0 {
		m.dropOldest(Cap, gone)
	}
	e := &Entry[V]{Key: key, Value: m.newValue(key), manager: m}
	entries := m.entries.Load()
	if entries == nil {
		entries = xsync.NewMapOf[session.Key, *Entry[V]]()
		m.entries.Store(entries)
	}
	entries.Store(key, e)
	m.count++
	m.idle.push(e)
	return e
}

// settle puts an entry that is in no queue where it now belongs.
func (m *Manager[V]) settle(e *Entry[V], gone *queue[V]) {
	switch {
	case e.work > 0:
	case e.doomed:
		m.drop(e, Deleted, gone)
	case m.closed:
		m.drop(e, Shutdown, gone)
	default:
		e.seen = m.now()
		m.idle.push(e)
	}
}

// now is the time a touch counts from.
func (m *Manager[V]) now() time.Duration {
	if m.due > 0 {
		return m.due
	}
	return time.Since(m.born)
}

// end takes one piece of work off e.
func (m *Manager[V]) end(e *Entry[V]) {
	var gone queue[V]
	m.lock()
	if e.work == 0 {
		m.mu.Unlock()
		panic("session: Release without Acquire of " + string(e.Key))
	}
	e.work--
	if e.reason == 0 {
		m.settle(e, &gone)
		if m.max > 0 && m.count > m.max && m.idle.size > 0 {
			m.dropOldest(Cap, &gone)
		}
	}
	m.unlock(gone)
}
