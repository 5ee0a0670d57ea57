package llm

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A line is where calls wait until the bounds of a model let them through: the
// sessions in turn, the calls of one session in their order. The zero line has
// no bounds. It has no lock: its Gate has.
type line struct {
	tokens *rate.Limiter // nil: no bound
	slots  int           // 0: no bound
	taken  int

	turns   []string // the sessions that wait, the next one first
	waiting map[string][]*waiter
	length  int
}

// A waiter is a call in a line. Its fields count once settled is closed.
type waiter struct {
	session string
	settled chan struct{}
	pass    pass
	shut    shut
}

func newLine(r Rate) line {
	l := line{slots: r.Concurrency}
	if r.Requests > 0 {
		burst := cmp.Or(r.Burst, r.Requests/10, 1)
		l.tokens = rate.NewLimiter(rate.Limit(float64(r.Requests)/time.Minute.Seconds()), burst)
	}
	return l
}

// take takes a place if there is one. Else it says after what time there may be
// one, 0 when that depends on a call under way.
func (l *line) take(now time.Time) (bool, time.Duration) {
	if l.slots > 0 && l.taken >= l.slots {
		return false, 0
	}
	if l.tokens != nil && !l.tokens.AllowN(now, 1) {
		missing := 1 - l.tokens.TokensAt(now)
		return false, max(time.Duration(missing/float64(l.tokens.Limit())*float64(time.Second)), time.Millisecond)
	}
	l.taken++
	return true, 0
}

func (l *line) join(session string) *waiter {
	w := &waiter{session: session, settled: make(chan struct{})}
	if l.waiting == nil {
		l.waiting = map[string][]*waiter{}
	}
	if len(l.waiting[session]) == 0 {
		l.turns = append(l.turns, session)
	}
	l.waiting[session] = append(l.waiting[session], w)
	l.length++
	return w
}

// next removes the call whose turn it is; its session goes to the end.
func (l *line) next() *waiter {
	session := l.turns[0]
	l.turns = l.turns[1:]
	calls := l.waiting[session]
	w := calls[0]
	calls[0] = nil
	if len(calls) > 1 {
		l.waiting[session] = calls[1:]
		l.turns = append(l.turns, session)
	} else {
		delete(l.waiting, session)
	}
	l.length--
	return w
}

// remove takes a call out of the line that does not wait any more.
func (l *line) remove(w *waiter) {
	calls := slices.DeleteFunc(l.waiting[w.session], func(other *waiter) bool { return other == w })
	if l.waiting[w.session] = calls; len(calls) == 0 {
		delete(l.waiting, w.session)
		l.turns = slices.DeleteFunc(l.turns, func(session string) bool { return session == w.session })
	}
	l.length--
}

// wait waits until w is settled; it is an error when ctx ends before.
func (w *waiter) wait(ctx context.Context) error {
	select {
	case <-w.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
