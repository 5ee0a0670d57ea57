package senders

import (
	"sync"
	"time"
)

// A Limiter counts the messages of senders: each has so many in a time, which come
// back evenly. It is safe for concurrent use.
type Limiter struct {
	mu    sync.Mutex
	spent map[string]time.Time // by sender: when all that was taken has come back
	swept int                  // how many there were after those were dropped that owe nothing
}

// A Rate is how many messages a sender has in a time. The zero Rate has no limit.
type Rate struct {
	Messages int
	Per      time.Duration
}

// Limited reports whether there is a limit.
func (r Rate) Limited() bool { return r.Messages > 0 && r.Per > 0 }

// minSwept is from how many senders on those are dropped that owe nothing.
const minSwept = 1024

// Take takes one message of a sender and returns when it may be worked on, which is
// now while the rate has room. owed reports whether an earlier one still waits.
func (l *Limiter) Take(sender string, rate Rate, now time.Time) (at time.Time, owed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, spent := l.next(sender, rate, now)
	owed = at.Add(-rate.step()).After(now)
	l.spent[sender] = spent
	l.sweep(now)
	return at, owed
}

// Allow is Take for a message that is refused when the rate has no room: then it
// takes nothing.
func (l *Limiter) Allow(sender string, rate Rate, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, spent := l.next(sender, rate, now)
	if at.After(now) {
		return false
	}
	l.spent[sender] = spent
	l.sweep(now)
	return true
}

// step is in what time one message comes back.
func (r Rate) step() time.Duration { return r.Per / time.Duration(r.Messages) }

// next is when one more message may be worked on, and when then all will have come
// back.
func (l *Limiter) next(sender string, rate Rate, now time.Time) (at, spent time.Time) {
	if l.spent == nil {
		l.spent = map[string]time.Time{}
	}
	step := rate.step()
	spent = l.spent[sender]
	if spent.Before(now) {
		spent = now
	}
	spent = spent.Add(step)
	if at = spent.Add(-step * time.Duration(rate.Messages)); at.Before(now) {
		at = now
	}
	return at, spent
}

// sweep drops senders that owe nothing, once there are twice as many as after the
// last time.
func (l *Limiter) sweep(now time.Time) {
	if len(l.spent) < max(minSwept, 2*l.swept) {
		return
	}
	for sender, spent := range l.spent {
		if !spent.After(now) {
			delete(l.spent, sender)
		}
	}
	l.swept = len(l.spent)
}
