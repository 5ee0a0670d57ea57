package llm

import (
	"context"
	"sync"
	"time"
)

// defaultPark is how long a model is left alone after a rate limit that did not
// say how long.
const defaultPark = 30 * time.Second

// A Gate stands before one model, for all the chains that lead to it: it holds
// what the runs of a host have learnt about the model. It keeps calls from a
// model that fails (a circuit breaker) or that has had too many (a park after a
// rate limit), and lets no more through than its Rate allows, the sessions that
// wait in turn. It also holds the provider once its credentials have been
// refreshed. The zero Gate is open, without bounds and without a name.
type Gate struct {
	name string

	mu       sync.Mutex
	breaker  breaker
	parked   time.Time // until when
	line     line
	inFlight int
	alarm    *time.Timer                // for the next of the line, nil when none is set
	watchers map[chan struct{}]struct{} // of runs that wait for a change

	provider  Provider      // nil: that of the Link
	renewals  int           // how often provider was replaced
	refreshed chan struct{} // closed when the refresh under way ends; nil: none is
}

// NewGate makes a Gate for the model of that name in the configuration.
func NewGate(name string, r Rate) *Gate { return &Gate{name: name, line: newLine(r)} }

// Name is the name of the model in the configuration.
func (g *Gate) Name() string { return g.name }

// A Skip is why a model was not asked.
type Skip string

// The reasons to pass a model over.
const (
	SkipParked  Skip = "parked"  // after a rate limit
	SkipOpen    Skip = "open"    // the breaker is, or its only probe is under way
	SkipTripped Skip = "tripped" // by hand
)

// A shut says why a gate lets no call through. The zero shut is an open gate.
type shut struct {
	why   Skip
	until time.Time // zero: not known
}

// A pass is the permission to call a model; its holder returns it by leave.
type pass struct {
	era  int
	from State // what the breaker was before
}

// enter waits for the turn of a session. It returns a pass, or why the gate is
// shut.
func (g *Gate) enter(ctx context.Context, session string) (pass, shut, error) {
	g.mu.Lock()
	now := time.Now()
	if s := g.shut(now); s.why != "" {
		g.mu.Unlock()
		return pass{}, s, nil
	}
	if g.line.length == 0 {
		if free, _ := g.line.take(now); free {
			p := g.admit()
			g.mu.Unlock()
			return p, shut{}, nil
		}
	}
	w := g.line.join(session)
	g.serve(now)
	g.mu.Unlock()
	err := w.wait(ctx)
	if err == nil {
		return w.pass, w.shut, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.settled: // at the same moment
		if w.shut.why == "" {
			g.giveBack(w.pass, unsure)
		}
	default:
		g.line.remove(w)
	}
	return pass{}, shut{}, err
}

// tryEnter is enter for a call that does not wait: there is none when the gate is
// shut, or others wait.
func (g *Gate) tryEnter() (p pass, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.shut(now).why != "" || g.line.length > 0 {
		return pass{}, false
	}
	if free, _ := g.line.take(now); !free {
		return pass{}, false
	}
	return g.admit(), true
}

// shut says why the gate lets no call through at now.
func (g *Gate) shut(now time.Time) shut {
	s := shut{}
	if now.Before(g.parked) {
		s = shut{SkipParked, g.parked}
	}
	switch {
	case !g.breaker.refuses(now):
	case g.breaker.state == Tripped:
		s = shut{why: SkipTripped}
	case g.breaker.state == Open && g.breaker.until.After(s.until):
		s = shut{SkipOpen, g.breaker.until}
	case s.why == "":
		s = shut{why: SkipOpen} // a probe is under way
	}
	return s
}

// admit lets one call through that has its place.
func (g *Gate) admit() pass {
	g.inFlight++
	from := g.breaker.now()
	return pass{era: g.breaker.enter(), from: from}
}

// leave gives a pass back: err is what the call has ended with. It returns what
// the breaker has become since the call was let through, if that is its doing.
func (g *Gate) leave(p pass, err *Error) []State {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && err.Code == CodeProviderRateLimit && !err.Elsewhere {
		g.park(err.RetryAfter)
	}
	return g.giveBack(p, outcomeOf(err))
}

// outcomeOf says what the end of a call tells of the model. An answer that does
// not please the caller is an answer.
func outcomeOf(err *Error) outcome {
	switch {
	case err == nil:
		return success
	case err.Elsewhere:
		return unsure
	case err.Code == CodeProviderUnavailable && err.Transient:
		return failure
	}
	return unsure
}

func (g *Gate) park(d time.Duration) {
	if d <= 0 {
		d = defaultPark
	}
	if until := time.Now().Add(d); until.After(g.parked) {
		g.parked = until
	}
}

func (g *Gate) giveBack(p pass, how outcome) []State {
	now := time.Now()
	g.inFlight--
	g.line.taken--
	var turned []State
	if p.from == Open && p.era == g.breaker.era {
		turned = append(turned, HalfOpen)
	}
	before := g.breaker.era
	g.breaker.leave(p.era, how, now)
	if g.breaker.era != before {
		turned = append(turned, g.breaker.state)
	}
	g.changed(now)
	return turned
}

// changed lets those who wait look again.
func (g *Gate) changed(now time.Time) {
	for w := range g.watchers {
		select {
		case w <- struct{}{}:
		default: // it is about to look
		}
	}
	g.serve(now)
}

// serve lets through whom the bounds allow, and sends all away when the gate is
// shut: there may be another model for them.
func (g *Gate) serve(now time.Time) {
	if g.alarm != nil {
		g.alarm.Stop()
		g.alarm = nil
	}
	for g.line.length > 0 {
		s := g.shut(now)
		if s.why == "" {
			free, after := g.line.take(now)
			if !free && after > 0 {
				g.alarm = time.AfterFunc(after, g.ring)
			}
			if !free {
				return
			}
		}
		w := g.line.next()
		if w.shut = s; s.why == "" {
			w.pass = g.admit()
		}
		close(w.settled)
	}
}

func (g *Gate) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serve(time.Now())
}

// watch has c told of changes until unwatch; c has room for one.
func (g *Gate) watch(c chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watchers == nil {
		g.watchers = map[chan struct{}]struct{}{}
	}
	g.watchers[c] = struct{}{}
}

func (g *Gate) unwatch(c chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.watchers, c)
}

func (g *Gate) look() shut {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut(time.Now())
}

// Trip takes the model out of service until Reset.
func (g *Gate) Trip() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.turn(Tripped)
	g.changed(time.Now())
}

// Reset lets calls through again: the breaker is closed and the park ends.
func (g *Gate) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.turn(Closed)
	g.parked = time.Time{}
	g.changed(time.Now())
}

// GateStatus is what a Gate does.
type GateStatus struct {
	Breaker  State     `json:"breaker"`
	Since    time.Time `json:"breaker_since,omitzero"` // when the breaker became that; zero: it has been closed from the start
	Until    time.Time `json:"until,omitzero"`         // open: when a call is let through to see how it ends
	Parked   time.Time `json:"parked_until,omitzero"`
	InFlight int       `json:"inflight"`
	Waiting  int       `json:"waiting"` // for their turn
}

// Status reports what the gate does.
func (g *Gate) Status() GateStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := GateStatus{Breaker: g.breaker.now(), Since: g.breaker.since, InFlight: g.inFlight, Waiting: g.line.length}
	if s.Breaker == Open {
		s.Until = g.breaker.until
	}
	if time.Now().Before(g.parked) {
		s.Parked = g.parked
	}
	return s
}
