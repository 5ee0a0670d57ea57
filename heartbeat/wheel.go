package heartbeat

import (
	"container/heap"
	"time"
)

// A wheel holds what is due when, the next first. Adding and taking are
// O(log n); one timer serves all. It is for one goroutine.
type wheel[T any] struct {
	slots slots[T]
	timer *time.Timer
}

type slot[T any] struct {
	due  time.Time
	what T
}

// newWheel makes an empty wheel whose timer does not run.
func newWheel[T any]() *wheel[T] {
	w := &wheel[T]{timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

// add has what come up at due; now is the time by the same clock.
func (w *wheel[T]) add(now, due time.Time, what T) {
	heap.Push(&w.slots, slot[T]{due, what})
	if w.slots[0].due.Equal(due) {
		w.timer.Reset(due.Sub(now))
	}
}

// bring has each come up no later than at the time that latest says for it.
func (w *wheel[T]) bring(now time.Time, latest func(T) time.Time) {
	for i, s := range w.slots {
		if at := latest(s.what); at.Before(s.due) {
			w.slots[i].due = at
		}
	}
	heap.Init(&w.slots)
	if len(w.slots) > 0 {
		w.timer.Reset(w.slots[0].due.Sub(now))
	}
}

// pop takes what is due at now, one at a time, and sets the timer for the rest.
func (w *wheel[T]) pop(now time.Time) (s slot[T], ok bool) {
	if len(w.slots) == 0 {
		return s, false
	}
	if wait := w.slots[0].due.Sub(now); wait > 0 {
		w.timer.Reset(wait)
		return s, false
	}
	return heap.Pop(&w.slots).(slot[T]), true
}

type slots[T any] []slot[T]

func (s slots[T]) Len() int           { return len(s) }
func (s slots[T]) Less(i, j int) bool { return s[i].due.Before(s[j].due) }
func (s slots[T]) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slots[T]) Push(x any)        { *s = append(*s, x.(slot[T])) }

func (s *slots[T]) Pop() any {
	old := *s
	last := old[len(old)-1]
	old[len(old)-1] = slot[T]{}
	*s = old[:len(old)-1]
	return last
}
