// Package lanes brings the messages of a host's lanes to the agents that they are for.
//
// Agents share lanes; which lane is an agent's follows from its id alone. A routing says
// which agents take a subject, and since when: all hosts of a fleet agree on that, so
// that each message is for the same agents everywhere, whichever host has read its
// configuration first. What no agent takes waits as a stray, or is ended by an [Ender].
package lanes

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Agent takes messages.
type Agent interface {
	ID() string
	// Bindings are the subjects of channels on which plugins reach it; one that ends
	// with ".*" is every instance of its channel.
	Bindings() []string
	// Offer hands it a delivery.
	Offer(d *delivery.Delivery)
	// Run works until ctx ends, or the agent is retired, and its runs have ended or
	// work has.
	Run(ctx, work context.Context) error
	// Retire ends Run once all that the agent has taken is done.
	Retire()
}

// An Ender ends messages that no agent takes.
type Ender interface {
	// End answers a message with an error, where it says to whom, and makes it a dead
	// letter; then done is called. It may happen twice: all of it has ids.
	End(ctx context.Context, m Message, done func())
	// Bury makes a message a dead letter.
	Bury(m Message, done func())
	// Served is what the hosts of the fleet serve, without this one's agents.
	Served(ctx context.Context) (Served, error)
}

// Options are what the lanes of a host work with.
type Options struct {
	JS     jetstream.JetStream
	Reader *records.Reader
	Host   string
	Count  int // of lanes
	Log    zerolog.Logger
	Few    *zerolog.Logger // Log for what may happen very often
	Brake  *delivery.Brake // of all lanes
	Ender  Ender
	// Taken is called when this host takes over a lane, for each of its agents.
	Taken func(agent, stream, lane string)
}

// A Set is the lanes of this host and the agents that they feed. Both may change while
// it runs.
type Set struct {
	Options
	routing atomic.Pointer[routing]
	lanes   atomic.Pointer[map[laneID]*feeder]

	mu       sync.Mutex
	service  *service // nil while it does not run
	stoppers map[Agent]context.CancelFunc
	ending   sync.WaitGroup // of messages that no agent takes
}

// A laneID names a lane of a stream.
type laneID struct {
	stream string
	n      int
}

// A service is the time in which a Set runs.
type service struct {
	ctx, hold, work context.Context //nolint:containedctx // for the life of Run
	lanes, agents   sync.WaitGroup
}

// New joins agents to their lanes.
func New(o Options, agents []Agent) *Set {
	s := &Set{Options: o, stoppers: map[Agent]context.CancelFunc{}}
	s.routing.Store(newRouting(agents, o.Count, nil))
	lanes := map[laneID]*feeder{}
	for id, subjects := range s.claims(agents) {
		lanes[id] = s.feeder(id, subjects)
	}
	s.lanes.Store(&lanes)
	return s
}

// claims is what each lane has to take for agents.
func (s *Set) claims(agents []Agent) map[laneID][]string {
	all := map[laneID][]string{}
	for _, r := range agents {
		n := Of(r.ID(), s.Count)
		if bindings := r.Bindings(); len(bindings) > 0 {
			id := laneID{bus.InboundStream, n}
			all[id] = append(all[id], bindings...)
		}
		routes, due := laneID{bus.RoutesStream, n}, laneID{bus.SchedulesStream, n}
		all[routes] = append(all[routes], bus.RoutePrefix+r.ID())
		all[due] = append(all[due], bus.DuePrefix+r.ID())
	}
	return all
}

func (s *Set) feeder(id laneID, subjects []string) *feeder {
	cfg := delivery.LaneConfig{Stream: id.stream, Name: delivery.LaneName(id.n), Filters: subjects, Host: s.Host, Brake: s.Brake}
	d := &feeder{n: id.n, set: s, log: s.Log.With().Str("stream", cfg.Stream).Str("lane", cfg.Name).Logger()}
	gained := func(context.Context) {
		for _, a := range s.Agents() {
			if Of(a.ID(), s.Count) == id.n && (id.stream != bus.InboundStream || len(a.Bindings()) > 0) {
				s.Taken(a.ID(), cfg.Stream, cfg.Name)
			}
		}
	}
	d.lane = delivery.NewLane(s.JS, cfg, s.Log, gained, d.deliver)
	return d
}

// Of is the lane of an agent, of count.
func Of(agent string, count int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(agent)) // never fails
	return int(h.Sum32() % uint32(count))
}

// Run serves until ctx ends; then it lets the agents finish the runs in progress, until
// work ends, and gives back what is left.
func (s *Set) Run(ctx, work context.Context) error {
	hold, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	m, _, err := s.agree(ctx, nil, s.routing.Load().bindings())
	if err != nil && ctx.Err() == nil {
		s.Log.Error().Err(err).Msg("read bindings of before: failed")
	}
	s.routing.Store(s.routing.Load().with(m))
	v := &service{ctx: ctx, hold: hold, work: work}
	v.lanes.Go(func() { s.followMoves(ctx) })
	s.start(v)
	v.lanes.Go(func() { s.endOrphans(ctx) })
	<-ctx.Done()
	s.stop()
	v.agents.Wait()
	release()
	v.lanes.Wait()
	s.ending.Wait()
	return nil
}

// start begins to serve all lanes and agents.
func (s *Set) start(v *service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service = v
	for _, a := range s.Agents() {
		s.stoppers[a] = v.runAgent(a)
	}
	for _, d := range *s.lanes.Load() {
		v.runLane(d)
	}
}

// stop ends what start began. From here on nothing changes any more.
func (s *Set) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.service = nil
	for _, d := range *s.lanes.Load() {
		d.leave()
	}
	for _, stop := range s.stoppers {
		stop()
	}
}

func (v *service) runAgent(a Agent) context.CancelFunc {
	ctx, cancel := context.WithCancel(v.ctx)
	v.agents.Go(func() {
		defer cancel()
		_ = a.Run(ctx, v.work)
	})
	return cancel
}

func (v *service) runLane(d *feeder) {
	v.lanes.Go(func() { _ = d.lane.Run(v.ctx, v.hold) })
}

// ErrNotServing means that a set of lanes does not run, or is about to end.
var ErrNotServing = errors.New("the host does not serve just now")

// Change makes agents all that is served; changes are what gives those that
// stay other settings. What is stored by when it returns is for the agents that
// were bound to it before, what comes later for those that are now, on all hosts
// of the fleet. An agent that is gone finishes its runs, answers what waits behind
// them with an error, and then its runtime ends. That NATS is away is waited for until ctx ends. One Change at a time.
func (s *Set) Change(ctx context.Context, agents []Agent, changes []func()) error {
	before := s.routing.Load().bindings()
	if !s.open(agents, changes) {
		return ErrNotServing
	}
	claimed := s.claim(ctx, s.claims(agents)) // first, so that nothing falls between two lanes
	m, wait, err := s.agree(ctx, before, newRouting(agents, s.Count, nil).bindings())
	if err != nil {
		m, wait = s.routing.Load().moves, 0
	}
	s.route(func(v *routing) *routing { return newRouting(agents, s.Count, m).leaving(v) })
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	s.route(func(v *routing) *routing { return newRouting(agents, s.Count, v.moves) })
	s.stopOthers(agents)
	return errors.Join(claimed, err)
}

// open makes changes, and begins what has to run for agents.
func (s *Set) open(agents []Agent, changes []func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service == nil {
		return false
	}
	for _, c := range changes {
		c()
	}
	for _, r := range agents {
		if s.stoppers[r] == nil {
			s.stoppers[r] = s.service.runAgent(r)
		}
	}
	lanes := maps.Clone(*s.lanes.Load())
	for id, subjects := range s.claims(agents) {
		if lanes[id] == nil {
			lanes[id] = s.feeder(id, subjects)
			s.service.runLane(lanes[id])
		}
	}
	s.lanes.Store(&lanes)
	return true
}

// claim has the lanes take more. What no agent is bound to any more they go on to
// take: another host may still need it.
func (s *Set) claim(ctx context.Context, claims map[laneID][]string) error {
	var errs []error
	for id, subjects := range claims {
		errs = append(errs, (*s.lanes.Load())[id].lane.Claim(ctx, subjects))
	}
	return errors.Join(errs...)
}

// route goes over to another routing.
func (s *Set) route(change func(*routing) *routing) {
	for {
		v := s.routing.Load()
		if s.routing.CompareAndSwap(v, change(v)) {
			break
		}
	}
	for _, d := range *s.lanes.Load() {
		d.retry()
	}
}

func (s *Set) stopOthers(agents []Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.stoppers {
		if !slices.Contains(agents, r) {
			r.Retire()
			delete(s.stoppers, r)
		}
	}
}

// Agents are those that are served, in the order of the configuration.
func (s *Set) Agents() []Agent { return s.routing.Load().agents }

// Agent is the one with that id, nil when it is not served.
func (s *Set) Agent(id string) Agent { return s.routing.Load().byID[id] }

// Up waits until every lane asks for messages.
func (s *Set) Up(ctx context.Context) error {
	for _, d := range *s.lanes.Load() {
		select {
		case <-d.lane.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Serving is how many of its lanes this host serves, and how many there are.
func (s *Set) Serving() (serving, all int) {
	lanes := *s.lanes.Load()
	for _, d := range lanes {
		if d.lane.Serving() {
			serving++
		}
	}
	return serving, len(lanes)
}

// Serves reports whether this host serves a lane that brings messages of people or tasks
// to an agent.
func (s *Set) Serves(agent string) bool {
	lanes, n := *s.lanes.Load(), Of(agent, s.Count)
	for _, id := range []laneID{{bus.InboundStream, n}, {bus.RoutesStream, n}} {
		if d := lanes[id]; d != nil && d.lane.Serving() {
			return true
		}
	}
	return false
}

// Owns reports whether this host is the one of the fleet that serves an agent: the
// first of its lanes that was ever served decides.
func (s *Set) Owns(ctx context.Context, agent string) (bool, error) {
	lanes := *s.lanes.Load()
	for _, stream := range bus.LaneStreams() {
		d := lanes[laneID{stream, Of(agent, s.Count)}]
		if d == nil {
			continue
		}
		if owner, err := d.lane.Owner(ctx); err != nil || owner != "" {
			return owner == s.Host, err
		}
	}
	return false, nil
}
