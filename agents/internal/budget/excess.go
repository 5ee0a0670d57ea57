package budget

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"agenthost/llm"
)

// An ExceededError says which budget a call would exceed.
type ExceededError struct {
	Span         Span
	Spent, Limit int64 // micro-cents
	Peer         Peer  // OfPeer: whose budget it is
}

func (e *ExceededError) Error() string {
	return fmt.Sprintf("budget of a %s: %s of %s spent", e.Span, llm.Money(e.Spent), llm.Money(e.Limit))
}

// period names the day or month of the budget, and the person.
func (e *ExceededError) period(now time.Time) string {
	day := now.UTC().Format(dayFormat)
	if e.Span == OfMonth {
		return string(e.Span) + " " + day[:len(monthFormat)]
	}
	return string(e.Span) + " " + string(e.Peer) + " " + day
}

// Report notes that a budget of a day or a month is exceeded. It is true the first
// time in that day or month.
func (l *Ledger) Report(e *ExceededError, now time.Time) (first bool) {
	return l.reported.add(e.period(now), now)
}

// periods remembers what was reported in the day and the month that are not over. Each
// ends with a space and its day or month. The zero value is empty.
type periods struct {
	mu    sync.Mutex
	names map[string]struct{}
}

// add reports whether a period is new.
func (p *periods) add(period string, now time.Time) (first bool) {
	day := now.UTC().Format(dayFormat)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.names, func(old string, _ struct{}) bool {
		return !strings.HasSuffix(old, " "+day) && !strings.HasSuffix(old, " "+day[:len(monthFormat)])
	})
	if _, known := p.names[period]; known {
		return false
	}
	if p.names == nil {
		p.names = map[string]struct{}{}
	}
	p.names[period] = struct{}{}
	return true
}
