// Package lanes brings the messages of a host's lanes to the agents that they are for.
//
// Agents share lanes; which lane is an agent's follows from its id alone. A routing says
// which agents take a subject, and since when: all hosts of a fleet agree on that, so
// that each message is for the same agents everywhere, whichever host has read its
// configuration first. What no agent takes waits as a stray, or is ended by an [Ender].
package lanes

import (
	"cmp"
	"context"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/finishing"
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
	// Doors are the channels by which it is reached where a message names it.
	Doors() []string
	// ShadowOf is the agent that it shadows; mostly none.
	ShadowOf() string
	// Welcomes reports whether it takes messages of who has sent one. It may wait.
	Welcomes(d *delivery.Delivery) bool
	// Offer hands it a delivery.
	Offer(d *delivery.Delivery)
	// Run works until ctx ends, or the agent is retired, and its runs have ended or
	// work has.
	Run(ctx, work context.Context) error
	// Retire ends Run once all that the agent has taken is done.
	Retire()
	// Yield starts no more runs, as the lane goes to another host. Resume starts them again
	// when it comes back; another reports whether a different host has served it meanwhile.
	Yield()
	Resume(another bool)
	// Asks reports whether something under way waits for an answer that has to come by
	// this host.
	Asks() bool
	// Unfinished are the sessions in which there is something to do.
	Unfinished() []string
	// Partitions are the agents that it is divided into, by their numbers: each has a lane
	// of its own. There may be more after Divided and after a Change, and never fewer.
	Partitions() []Agent
	// Former reports of a partition, by its number, that the hosts have agreed on fewer, and
	// that it has done all that it was given.
	Former(number int) bool
	// Divided is called with what the hosts of the fleet say of its partitions.
	Divided(revision uint64, layout []byte)
	// Agree has the hosts agree on the number of partitions that it is to have by now. The
	// host that serves its lane calls it.
	Agree()
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
	Weight int // its share of the lanes beside those of other hosts; default 1
	Count  int // of lanes
	Log    zerolog.Logger
	Few    *zerolog.Logger // Log for what may happen very often
	Brake  *delivery.Brake // of all lanes
	Ender  Ender
	// Finishing is what other hosts still do in lanes that have come here.
	Finishing *finishing.Index
	// Taken is called when this host takes over a lane, for each of its agents.
	Taken func(agent, stream, lane string)
}

// A Set is the lanes of this host and the agents that they feed. Both may change while
// it runs.
type Set struct {
	Options
	routing atomic.Pointer[routing]
	lanes   atomic.Pointer[map[laneID]*feeder]
	share   atomic.Pointer[Share]
	// programs are the subjects of routes that only programs take, as of the last look
	// for orphans.
	programs atomic.Pointer[map[string]bool]
	spread   *spread
	followed atomic.Bool // there are other hosts for what this one leaves
	looked   looked      // for orphans

	mu       sync.Mutex
	service  *service // nil while it does not run
	stoppers map[Agent]context.CancelFunc
	layouts  map[string]said // of agents, what the fleet says of their partitions
	ending   sync.WaitGroup  // of messages that no agent takes
	agreed   chan struct{}   // closed when the bindings of the first agents count
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
	s := &Set{Options: o, stoppers: map[Agent]context.CancelFunc{}, layouts: map[string]said{}, agreed: make(chan struct{})}
	s.spread = newSpread(s)
	s.share.Store(&Share{Weight: cmp.Or(o.Weight, 1)})
	s.routing.Store(newRouting(agents, o.Count, nil))
	lanes := map[laneID]*feeder{}
	for id, subjects := range s.claims(agents) {
		lanes[id] = s.feeder(id, subjects)
	}
	for _, a := range agents {
		s.divide(a, lanes)
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
	s.claimDoors(agents, all)
	return all
}

func (s *Set) feeder(id laneID, subjects []string) *feeder {
	cfg := delivery.LaneConfig{Stream: id.stream, Name: delivery.LaneName(id.n), Filters: subjects, Host: s.Host, Brake: s.Brake}
	return s.feed(id, cfg, nil)
}

// feed makes a lane and what it feeds: one partition, or the agents that share it.
func (s *Set) feed(id laneID, cfg delivery.LaneConfig, partition Agent) *feeder {
	d := &feeder{n: id.n, set: s, log: s.Log.With().Str("stream", cfg.Stream).Str("lane", cfg.Name).Logger()}
	if partition != nil {
		d.partition.Store(&partition)
	}
	gained := func(ctx context.Context, former string) {
		s.came(ctx, id, former)
		if partition != nil {
			s.Taken(partition.ID(), cfg.Stream, cfg.Name)
			return
		}
		for _, a := range s.Agents() {
			if Of(a.ID(), s.Count) == id.n && (id.stream != bus.InboundStream || len(a.Bindings()) > 0) {
				s.Taken(a.ID(), cfg.Stream, cfg.Name)
			}
		}
	}
	cfg.Namesake = s.spread.namesake.Load
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
	m, wait, err := s.agree(ctx, nil, s.routing.Load().bindings())
	if err != nil && ctx.Err() == nil {
		s.Log.Error().Err(err).Msg("read bindings of before: failed")
	}
	s.routing.Store(s.routing.Load().with(m))
	defer time.AfterFunc(max(wait, 0), func() { close(s.agreed) }).Stop()
	v := &service{ctx: ctx, hold: hold, work: work}
	known := make(chan struct{})
	v.lanes.Go(func() { s.followMoves(ctx, sync.OnceFunc(func() { close(known) })) })
	select {
	case <-known:
	case <-ctx.Done():
	}
	s.spread.findNamesake(ctx)
	s.start(v)
	v.lanes.Go(func() { s.endOrphans(ctx) })
	v.lanes.Go(func() { s.spread.run(hold) })
	<-ctx.Done()
	s.stop()
	s.leave(hold)
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
		if p := d.partition.Load(); p != nil {
			d.stop = v.runAgent(*p) // it ends with the host, or when the agent is made again
		}
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

// Followed reports, once Run has ended, whether there were other hosts for the lanes.
func (s *Set) Followed() bool { return s.followed.Load() }

// Alone returns once no other host of the fleet has said for a while that it lives, or ctx ends. It is
// for the time after Run.
func (s *Set) Alone(ctx context.Context) { s.spread.alone(ctx) }

// leave hands all lanes over, where there are other hosts: nothing that comes waits for
// the runs that are in progress here.
func (s *Set) leave(ctx context.Context) {
	if !s.spread.leave() {
		return
	}
	s.followed.Store(true)
	numbers := map[int]bool{}
	for id, f := range *s.lanes.Load() {
		if f.lane.Serving() {
			numbers[id.n] = true
		}
	}
	var lanes sync.WaitGroup
	for n := range numbers {
		lanes.Go(func() { s.handOver(ctx, n) })
	}
	lanes.Wait()
}

// Share is what this host is to serve, of the lanes of the fleet.
func (s *Set) Share() Share { return *s.share.Load() }

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
