package budget

import (
	"context"
	"fmt"
	"time"

	"agenthost/llm"
)

// The budget of a month has no record of its own: the records of its days, which
// are kept for longer than a month, say what was spent.

// before is what was spent in a month before a day of it.
type before struct {
	day   string // that it is before
	spent int64
	read  time.Time
}

// beforeStays is how long a sum is good for. Calls that were begun the day before
// are in it as reserved; only their settlement makes it smaller.
const beforeStays = time.Minute

// beforeToday is what was spent, or is reserved, in this month before today.
func (l *Ledger) beforeToday(ctx context.Context, now time.Time) (int64, error) {
	now = now.UTC()
	day := now.Format(dayFormat)
	if b := l.knownBefore(); b.day == day && now.Sub(b.read) < beforeStays {
		return b.spent, nil
	}
	sum := int64(0)
	for at := now.AddDate(0, 0, 1-now.Day()); at.Day() < now.Day(); at = at.AddDate(0, 0, 1) {
		record, err := l.day(ctx, at)
		if err != nil {
			return 0, fmt.Errorf("read what was spent this month: %w", err)
		}
		sum = llm.Sum(sum, record.committed())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = before{day, sum, now}
	return sum, nil
}

// knownBefore is the last sum that was read.
func (l *Ledger) knownBefore() before {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.before
}

// committed is what was spent, and what is reserved for calls under way.
func (s Spend) committed() int64 {
	sum := s.Spent
	for _, share := range s.Hosts {
		sum = llm.Sum(sum, share.Reserved)
	}
	return sum
}
