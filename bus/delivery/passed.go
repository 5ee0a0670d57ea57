package delivery

import (
	"math"
	"slices"
)

// everything is what a lane has passed when nothing is left to deliver.
const everything = math.MaxUint64

// A waiter is told when a lane has passed a sequence.
type waiter struct {
	seq  uint64
	then func()
}

// Passed reports whether all that came before seq has been handed out: after a
// takeover the unacknowledged messages come again in their order, and who has
// later work at hand waits for the earlier. If it has not, then is called once
// it has; nil asks only.
func (l *Lane) Passed(seq uint64, then func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed >= seq {
		return true
	}
	if then != nil {
		l.waiters = append(l.waiters, waiter{seq, then})
	}
	return false
}

// pass notes that the message with sequence seq was handed out, with pending
// more to come.
func (l *Lane) pass(seq, pending uint64) {
	l.mu.Lock()
	l.passed = max(l.passed, seq)
	if pending == 0 {
		l.passed = everything
	}
	var due []waiter
	l.waiters = slices.DeleteFunc(l.waiters, func(w waiter) bool {
		if w.seq <= l.passed {
			due = append(due, w)
		}
		return w.seq <= l.passed
	})
	l.mu.Unlock()
	for _, w := range due {
		w.then()
	}
}

// beginAgain forgets how far the lane was: a takeover begins with what is left.
func (l *Lane) beginAgain() {
	l.mu.Lock()
	l.passed = 0
	l.mu.Unlock()
}
