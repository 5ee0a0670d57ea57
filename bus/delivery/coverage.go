package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"

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
	noted  uint64    // what the last look has found in the note of the owner
	heeds  bool      // from is what that says
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
	l.coverage.noted, l.coverage.heeds = 0, false
}

// heed has this host ask for what a note says was left out; where it says so no more, another host has.
func (l *Lane) heed(note ownership) {
	c := &l.coverage
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case note.LeftOut == 0 && c.heeds:
		c.from, c.looks, c.set, c.heeds = 0, 0, false, false
	case note.LeftOut > 0 && (c.from == 0 || note.LeftOut < c.from):
		c.from, c.set, c.heeds = note.LeftOut, true, true
	}
}

// found notes what a look of the owner has found in its note. What is there at two looks one after the other
// is not being asked for by the host that has written it.
func (l *Lane) found(note ownership) (again bool) {
	c := &l.coverage
	c.mu.Lock()
	defer c.mu.Unlock()
	again = note.LeftOut > 0 && c.noted == note.LeftOut
	c.noted = note.LeftOut
	return again
}

// takes are the filters of a consumer that takes all that the lane is to take, and has left nothing out;
// nil of any other.
func (l *Lane) takes(have jetstream.ConsumerConfig) []string {
	if l.leftOut() > 0 || !l.takesClaims(have) {
		return nil
	}
	return filtersOf(have)
}

// recall looks, before this host sets the filters of a consumer for the first time in its life, whether
// the consumer took more before: what it has left out since is noted for who serves the lane. What was
// never taken does not count, as where an agent is new.
func (l *Lane) recall(ctx context.Context, have jetstream.ConsumerConfig) error {
	l.coverage.mu.Lock()
	known := l.coverage.claims != nil
	l.coverage.mu.Unlock()
	if known || len(*l.claims.Load()) == 0 {
		return nil
	}
	note, err := l.owner.read(ctx)
	if err != nil {
		return err
	}
	if takesAll(have, inBoth(note.Takes, *l.claims.Load()), l.all()) {
		return nil
	}
	l.log.Warn().Strs("filters", filtersOf(have)).Uint64("from", note.Done+1).
		Msg("the subjects of the consumer were changed, and it may have left out messages of its lane; its owner is to ask for these again")
	return l.owner.changeUntil(ctx, noteFrom(note.Done+1))
}

// inBoth are those of either filters that the other ones take whole. There may be hundreds of each, and a
// host that starts waits for it.
func inBoth(a, b []string) (both []string) {
	for _, of := range [][2][]string{{a, b}, {b, a}} {
		for _, filter := range of[0] {
			if slices.ContainsFunc(of[1], func(other string) bool { return bus.Matches(other, filter) }) {
				both = append(both, filter)
			}
		}
	}
	return bus.Minimal(both)
}

// noteFrom has a note say from where on messages were left out, if it says nothing of earlier ones.
func noteFrom(from uint64) func(*ownership) bool {
	return func(note *ownership) bool {
		if note.LeftOut > 0 && note.LeftOut <= from {
			return false
		}
		note.LeftOut = from
		return true
	}
}

// noteLeftOut notes what was left out, before this host sets the filters again: nothing else would say
// so if it died before it has asked.
func (l *Lane) noteLeftOut(ctx context.Context) {
	from := l.leftOut()
	if from == 0 {
		return
	}
	if err := l.owner.changeUntil(ctx, noteFrom(from)); err != nil && !errors.Is(err, records.ErrNotFound) {
		l.log.Warn().Err(err).Msg("note what the consumer has left out: failed; it is lost if this host dies at once")
	}
}

// changeUntil is change that is made again while others write at the same time.
func (s ownershipStore) changeUntil(ctx context.Context, change func(*ownership) bool) error {
	for {
		err := s.change(ctx, change)
		if err == nil || !records.Overtaken(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("record the owner of the lane: %w", context.Cause(ctx))
		}
	}
}
