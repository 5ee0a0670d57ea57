package delivery

import (
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// coverage is what a lane has seen of what its consumer takes.
type coverage struct {
	mu     sync.Mutex
	claims *[]string // of this host, all of which it took
	to     uint64    // how far it had come then
	from   uint64    // from here on it may have left some out, 0 where it has not
	looks  int       // that found it so
	set    bool      // this host has set the filters again, and is the one to ask for what was left out
}

// cover looks whether a consumer takes what this host has claimed. Where it does so no more, though hosts
// only ever add to what it takes, it may have passed over what came since. Where it does so again, the
// host that has set it again asks for that.
func (l *Lane) cover(info *jetstream.ConsumerInfo) {
	claims, takes := l.claims.Load(), l.takesClaims(info.Config)
	c := &l.coverage
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case takes:
		c.claims, c.to = claims, info.Delivered.Stream
		if !c.set {
			c.from, c.looks = 0, 0
		}
	case c.from == 0 && c.claims != nil && !takesAll(info.Config, *c.claims, l.all()):
		c.from = c.to + 1
	}
}

// leftOut is from where on the consumer may have passed over what this lane takes, 0 where it has not.
func (l *Lane) leftOut() uint64 {
	l.coverage.mu.Lock()
	defer l.coverage.mu.Unlock()
	return l.coverage.from
}

// looksForOwner is how many looks find something left out before a host acts that does not serve the
// lane: its owner may not have claimed that, or be of a version that does not look.
const looksForOwner = 2

// asksForLeftOut reports whether something was left out that this host is to ask for.
func (l *Lane) asksForLeftOut(others bool) bool {
	c := &l.coverage
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from == 0 {
		return false
	}
	c.looks++
	return !others || c.set || c.looks >= looksForOwner
}

// hasSetFilters says that this host has set the filters again: it has to ask for what was left out, also
// where another host serves the lane by now.
func (l *Lane) hasSetFilters() {
	l.coverage.mu.Lock()
	defer l.coverage.mu.Unlock()
	l.coverage.set = l.coverage.from > 0
}

// owesLeftOut reports whether this host is the one to ask for what was left out.
func (l *Lane) owesLeftOut() bool {
	l.coverage.mu.Lock()
	defer l.coverage.mu.Unlock()
	return l.coverage.set
}

// askedAgain says that what was left out is on its way.
func (l *Lane) askedAgain() {
	l.coverage.mu.Lock()
	defer l.coverage.mu.Unlock()
	l.coverage.from, l.coverage.looks, l.coverage.set = 0, 0, false
}
