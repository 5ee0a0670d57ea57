package lanes

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/rs/zerolog"
)

// A feeder is a lane and the agents of this host that it feeds.
type feeder struct {
	lane *delivery.Lane
	n    int // of the lane
	set  *Set
	log  zerolog.Logger

	partition atomic.Pointer[Agent] // that it feeds alone; nil: what it brings is for agents by its subject
	number    int                   // of the partition
	stop      context.CancelFunc    // ends the partition; guarded by the set

	mu     sync.Mutex
	strays []*stray // in the order they came
	left   bool     // no stray waits any more
}

// A stray is a message for an agent that this host does not know: another host
// of the fleet has a newer configuration. This one may get it too.
type stray struct {
	d      *delivery.Delivery
	handed []Agent // have it already
	timer  *time.Timer
}

const (
	// strayFor is how long a stray waits; a rolling change of a fleet takes less.
	strayFor = 10 * time.Minute
	// mostStrays is how many wait in a lane; the first to come are the first to go.
	mostStrays = 1000
)

// deliver hands d to every agent of the lane that it is for.
func (f *feeder) deliver(d *delivery.Delivery) {
	if p := f.partition.Load(); p != nil {
		(*p).Offer(d)
		return
	}
	v := f.set.routing.Load()
	bound, complete := f.takers(v, d)
	takers, complete := f.addressed(d, bound, complete)
	switch {
	case !complete:
		f.settle(&stray{d: d})
	case len(bound) == 0:
		f.pass(d)
	default:
		if name := v.misnamed(d); name != "" {
			f.endMisnamed(v, d, name)
			return
		}
		if len(takers) == 0 { // it is for an agent of another lane
			d.Done()
			return
		}
		d.Hold(len(takers))
		for _, r := range takers {
			r.Offer(d)
		}
	}
}

// settle hands s to those it is for that do not have it yet. Unless these are
// all, it waits for another routing.
func (f *feeder) settle(s *stray) {
	for {
		v := f.set.routing.Load()
		bound, complete := f.takers(v, s.d)
		takers, complete := f.addressed(s.d, bound, complete)
		for _, r := range takers {
			if !slices.Contains(s.handed, r) {
				s.handed = append(s.handed, r)
				s.d.Share()
				r.Offer(s.d)
			}
		}
		if complete && len(s.handed) == 0 {
			f.passAddressed(v, s.d, len(bound) > 0)
			return
		}
		if complete {
			s.d.Done()
			return
		}
		if f.keep(s, v) {
			return
		}
	}
}

// passAddressed is pass for a message that may be for none of those that are bound.
func (f *feeder) passAddressed(v *routing, d *delivery.Delivery, bound bool) {
	if name := v.misnamed(d); bound && name != "" {
		f.endMisnamed(v, d, name)
		return
	}
	f.pass(d)
}

// pass is done with a message that no agent of the lane takes. Where those that it
// was for have been removed, it is ended in their place.
func (f *feeder) pass(d *delivery.Delivery) {
	removed := addressedOf(d, f.removed(f.set.routing.Load(), d))
	if len(removed) == 0 {
		d.Done()
		return
	}
	f.set.ending.Go(func() { f.end(d, removed) })
}

// end ends a message in the place of agents, and is done with it.
func (f *feeder) end(d *delivery.Delivery, agents []string) {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	d.Hold(len(agents))
	for _, agent := range agents {
		f.set.Ender.End(ctx, messageOf(agent, d), d.Done)
	}
}

// endOne ends a message that names no agent of its channel, and is done with it.
func (f *feeder) endOne(m Message, d *delivery.Delivery) {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	f.set.Ender.End(ctx, m, d.Done)
}

// giveUp ends a stray, unless a host of the fleet knows the agent that it is for, or
// may know it: then it comes again.
func (f *feeder) giveUp(s *stray) {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	served, err := f.set.served(ctx)
	agents, known := f.meant(s.d)
	switch {
	case err != nil:
		f.log.Warn().Err(err).Str("subject", s.d.Subject).Msg("ask hosts for their agents: failed; the message will be redelivered")
		s.d.Leave()
	case slices.ContainsFunc(agents, served.has):
		f.log.Warn().Str("subject", s.d.Subject).Uint64("seq", s.d.Seq).Msg("another host knows the agent of this message; reload this one")
		s.d.Leave()
	case len(s.handed) > 0:
		s.d.Done()
	case !known && served.Hosts > 1: // an agent may be bound that answers: no second answer
		f.set.Ender.Bury(messageOf(Unbound, s.d), s.d.Done)
	default:
		f.end(s.d, agents)
	}
}

// meant are the agents that a stray is for, and whether that is known.
func (f *feeder) meant(d *delivery.Delivery) (agents []string, known bool) {
	if agent, ok := bus.AgentOf(d.Subject); ok {
		return []string{agent}, true
	}
	if _, ok := doorOf(d.Subject); ok {
		return []string{Named(d)}, true
	}
	v := f.set.routing.Load()
	ids := slices.DeleteFunc(slices.Clone(v.boundTo(d.Subject, d.Stored)), func(id string) bool {
		return v.byID[id] != nil || Of(id, len(v.lanes)) != f.n
	})
	if ids = addressedOf(d, ids); len(ids) == 0 {
		return []string{Unbound}, false
	}
	return ids, true
}

// waitFor is how long a message waits for its agent: a delegate not beyond its
// deadline.
func waitFor(d *delivery.Delivery) time.Duration {
	wait := strayFor
	if route, err := bus.DecodeRoute(d.Data()); d.Stream() == bus.RoutesStream && err == nil && !route.Deadline.IsZero() {
		wait = min(wait, max(time.Until(route.Deadline), 0))
	}
	return wait
}

// keep lets s wait. It is false when v is not the routing any more.
func (f *feeder) keep(s *stray, v *routing) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left {
		s.d.Leave()
		return true
	}
	if f.set.routing.Load() != v {
		return false
	}
	s.timer = time.AfterFunc(waitFor(s.d), func() { f.forget(s) })
	f.strays = append(f.strays, s)
	if len(f.strays) == 1 {
		f.log.Info().Str("subject", s.d.Subject).Dur("wait", strayFor).Msg("a message is for an agent that this host does not know; it waits for one")
	}
	if len(f.strays) > mostStrays {
		f.strays[0].timer.Reset(0)
	}
	return true
}

// forget is done with a stray that has waited long enough, unless another host
// serves the lane now.
func (f *feeder) forget(s *stray) {
	f.mu.Lock()
	i := slices.Index(f.strays, s)
	if i >= 0 {
		f.strays = slices.Delete(f.strays, i, i+1)
	}
	f.mu.Unlock()
	if i < 0 {
		return
	}
	if !f.lane.Serving() {
		s.d.Leave()
		return
	}
	f.log.Warn().Str("subject", s.d.Subject).Uint64("seq", s.d.Seq).Msg("no agent is bound to this message; it is given up")
	f.set.ending.Go(func() { f.giveUp(s) })
}

// retry routes the strays once more.
func (f *feeder) retry() {
	for _, s := range f.take(false) {
		f.settle(s)
	}
}

// leave gives the strays up: the next owner of the lane may know whom they are
// for.
func (f *feeder) leave() {
	for _, s := range f.take(true) {
		s.d.Leave()
	}
}

// giveBack is leave for a lane that may come again.
func (f *feeder) giveBack() {
	for _, s := range f.take(false) {
		s.d.Leave()
	}
}

func (f *feeder) take(left bool) []*stray {
	f.mu.Lock()
	defer f.mu.Unlock()
	strays := f.strays
	f.strays, f.left = nil, f.left || left
	for _, s := range strays {
		s.timer.Stop()
	}
	return strays
}
