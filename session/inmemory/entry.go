package inmemory

import (
	"time"

	"agenthost/session"
)

// An Entry is a session in memory. It stays a valid value after it was
// dropped, but the Manager no longer knows it then.
type Entry[V any] struct {
	Key   session.Key // never written after New
	Value V           // what New returned; the holder's to guard

	manager *Manager[V]

	// The manager's lock guards the rest. With a pointer as V all of it is 64
	// bytes, one cache line: with many sessions that decides the speed.
	next, prev *Entry[V]     // in the queue it is in, if any
	seen       time.Duration // last touch, on the manager's clock
	work       int32         // pieces in flight; in the idle queue while 0
	doomed     bool          // deleted while in flight
	reason     Reason        // of being dropped; 0: live
}

// Release ends one piece of work that Acquire began, and touches the session.
// It panics when there is none. With its last piece of work goes a session that
// was deleted meanwhile, and while there are too many the one that has been
// idle longest.
func (e *Entry[V]) Release() { e.manager.end(e) }

// A queue is a doubly linked list through the entries themselves, so that
// moving one costs no memory and the same time at any length. An entry is in
// one queue at most.
type queue[V any] struct {
	first, last *Entry[V]
	size        int
}

func (q *queue[V]) push(e *Entry[V]) {
	e.prev, e.next = q.last, nil
	if q.last == nil {
		q.first = e
	} else {
		q.last.next = e
	}
	q.last = e
	q.size++
}

func (q *queue[V]) remove(e *Entry[V]) {
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	q.size--
}
