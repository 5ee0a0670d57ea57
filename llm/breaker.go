package llm

import (
	"cmp"
	"time"
)

// State is what a circuit breaker does with calls.
type State string

// The states of a breaker.
const (
	Closed   State = "closed"    // every call is let through
	Open     State = "open"      // none is, until a time
	HalfOpen State = "half_open" // one at a time, to see how it ends
	Tripped  State = "tripped"   // none is, until it is reset by hand
)

const (
	failuresToOpen   = 5 // in a row
	successesToClose = 2 // in a row
	firstOpen        = 10 * time.Second
	longestOpen      = 120 * time.Second
)

// An outcome is what a call says of who was called.
type outcome int

const (
	unsure outcome = iota // the caller's doing, or the request's: it says nothing
	success
	failure
)

// A breaker keeps calls from a model that fails. The zero breaker is closed.
// It has no lock: its Gate has.
type breaker struct {
	state   State         // empty: closed
	since   time.Time     // when it became that; zero: from the start
	count   int           // failures in a row while closed, successes while half open
	pause   time.Duration // how long it was open last
	until   time.Time     // open: when it lets a probe through
	probing bool
	era     int // counts changes: a call of another era says nothing of this one
}

// refuses reports whether a call would not be let through now.
func (b *breaker) refuses(now time.Time) bool {
	switch b.state {
	case Open:
		return now.Before(b.until)
	case HalfOpen:
		return b.probing
	}
	return b.state == Tripped
}

// enter lets a call through, which refuses has not refused. It returns the era
// of the call, for leave.
func (b *breaker) enter() int {
	if b.state == Open {
		b.turn(HalfOpen)
	}
	b.probing = b.state == HalfOpen
	return b.era
}

// leave takes note of how a call has ended.
func (b *breaker) leave(era int, how outcome, now time.Time) {
	if era != b.era {
		return
	}
	b.probing = false
	switch {
	case how == unsure:
	case b.state == HalfOpen && how == failure:
		b.open(now, min(2*b.pause, longestOpen))
	case b.state == HalfOpen:
		if b.count++; b.count == successesToClose {
			b.turn(Closed)
		}
	case how == success:
		b.count = 0
	default:
		if b.count++; b.count == failuresToOpen {
			b.open(now, firstOpen)
		}
	}
}

func (b *breaker) open(now time.Time, pause time.Duration) {
	b.turn(Open)
	b.pause, b.until = pause, now.Add(pause)
}

func (b *breaker) turn(to State) {
	if to != b.now() {
		b.since = time.Now()
	}
	b.state, b.count, b.probing = to, 0, false
	b.era++
}

func (b *breaker) now() State { return cmp.Or(b.state, Closed) }
