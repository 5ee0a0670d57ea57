package plugins

import (
	"context"
	"sync"
	"time"
)

// leaseFor is how long NATS's word that the account is ours counts. The pin is ours for
// pinnedTTL after the last request for messages, and these are pullExpiry apart.
const leaseFor = pinnedTTL - pullExpiry

// A lease is how long no other host can own the account. A host that has stood still, as a
// machine that was suspended, does not know what has happened meanwhile: it asks before it
// delivers what it held.
type lease struct {
	mu      sync.Mutex
	until   time.Time
	renewed chan struct{} // closed when it is renewed; nil: no goroutine waits
}

// renew is called with the time at which NATS was asked whose the account is, when the
// answer is that it is ours.
func (l *lease) renew(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = asked.Add(leaseFor)
	if l.renewed != nil {
		close(l.renewed)
		l.renewed = nil
	}
}

func (l *lease) valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until)
}

// wait returns once the lease is valid; false: ctx has ended before.
func (l *lease) wait(ctx context.Context) bool {
	for {
		l.mu.Lock()
		if time.Now().Before(l.until) {
			l.mu.Unlock()
			return true
		}
		if l.renewed == nil {
			l.renewed = make(chan struct{})
		}
		renewed := l.renewed
		l.mu.Unlock()
		select {
		case <-renewed:
		case <-ctx.Done():
			return false
		}
	}
}
