package lanes

import (
	"sync"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// orphansGroup has one host of the fleet hear of each route.
const orphansGroup = "agenthost-orphans"

// orphansStored is what a stream may take to store a message that is heard of already.
const orphansStored = 200 * time.Millisecond

// hearOrphans sets the alarm for each delegate that no agent takes and that is due before
// the next look comes by itself; until stop is called. It hears what is published and
// needs no consumer, which would have to acknowledge every message. What is not heard is
// found by that look.
func (s *Set) hearOrphans(heard *alarm) (stop func()) {
	sub, err := s.JS.Conn().QueueSubscribe(bus.RoutePrefix+"*", orphansGroup, func(m *nats.Msg) {
		if programs := s.programs.Load(); s.routing.Load().isTaken(m.Subject) || programs != nil && (*programs)[m.Subject] {
			return
		}
		now := time.Now()
		if end, ok := endOf(m.Data, now); ok && end.Before(now.Add(orphansEvery)) {
			heard.ring(later(end, now.Add(orphansStored)))
		}
	})
	if err != nil {
		s.Log.Warn().Err(err).Msg("hear of tasks of unknown agents: failed; they are ended some seconds late")
		return func() {}
	}
	return func() { _ = sub.Unsubscribe() } // the connection may be gone
}

// An alarm is for the first of several times.
type alarm struct {
	set chan struct{} // receives when there is a time

	mu sync.Mutex
	at time.Time // zero: none
}

func newAlarm() *alarm { return &alarm{set: make(chan struct{}, 1)} }

// ring sets the alarm for a time, unless it is set for an earlier one.
func (a *alarm) ring(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
	}
	select {
	case a.set <- struct{}{}:
	default: // it is known
	}
}

// take is the first time that the alarm was set for since the last take; the zero time
// when it was not.
func (a *alarm) take() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.at
	a.at = time.Time{}
	return at
}
