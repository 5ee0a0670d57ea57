package agents

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go/jetstream"
)

// A Fleet is this host's share of the agents: their runtimes and the lanes that
// feed them. Both may change while it runs.
type Fleet struct {
	js      jetstream.JetStream
	parts   *Parts
	count   int // of lanes
	routing atomic.Pointer[routing]
	lanes   atomic.Pointer[map[laneID]*feeder]
	brake   delivery.Brake // of all lanes, while memory is short

	mu       sync.Mutex
	begin    func(*Runtime) context.CancelFunc // nil while it does not run
	beginOn  func(*feeder)
	stoppers map[*Runtime]context.CancelFunc
	ending   sync.WaitGroup // of messages that no agent takes
}

// A laneID names a lane of a stream.
type laneID struct {
	stream string
	n      int
}

// NewFleet joins runtimes to count lanes. Which lane is an agent's follows from
// its id alone, so that all hosts agree.
func NewFleet(js jetstream.JetStream, parts *Parts, count int, runtimes []*Runtime) *Fleet {
	parts.lastTries = new(gate)
	parts.crew = new(crew)
	parts.questions = newQuestions()
	parts.ids = newSharedIDs()
	parts.few = bus.Few(parts.Log)
	f := &Fleet{js: js, parts: parts, count: count, stoppers: map[*Runtime]context.CancelFunc{}}
	f.routing.Store(newRouting(runtimes, count, nil))
	lanes := map[laneID]*feeder{}
	for id, subjects := range f.claims(runtimes) {
		lanes[id] = f.feeder(id, subjects)
	}
	f.lanes.Store(&lanes)
	return f
}

// claims is what each lane has to take for runtimes.
func (f *Fleet) claims(runtimes []*Runtime) map[laneID][]string {
	all := map[laneID][]string{}
	for _, r := range runtimes {
		n := LaneOf(r.ID(), f.count)
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

func (f *Fleet) feeder(id laneID, subjects []string) *feeder {
	cfg := delivery.LaneConfig{Stream: id.stream, Name: delivery.LaneName(id.n), Filters: subjects, Host: f.parts.Host, Brake: &f.brake}
	d := &feeder{n: id.n, fleet: f, log: f.parts.Log.With().Str("stream", cfg.Stream).Str("lane", cfg.Name).Logger()}
	gained := func(context.Context) {
		for _, r := range f.runtimes() {
			if LaneOf(r.ID(), f.count) == id.n && (id.stream != bus.InboundStream || len(r.Bindings()) > 0) {
				f.parts.event(r.ID(), "takeover", map[string]any{"stream": cfg.Stream, "lane": cfg.Name})
			}
		}
	}
	d.lane = delivery.NewLane(f.js, cfg, f.parts.Log, gained, d.deliver)
	return d
}

// LaneOf is the lane of an agent, of count.
func LaneOf(agent string, count int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(agent)) // never fails
	return int(h.Sum32() % uint32(count))
}

// Run serves until ctx ends; then it finishes the runs in progress, until work
// ends, and gives back what is left.
func (f *Fleet) Run(ctx, work context.Context) error {
	hold, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	f.openSigner(ctx)
	m, _, err := f.agree(ctx, nil, f.routing.Load().bindings())
	if err != nil && ctx.Err() == nil {
		f.parts.Log.Error().Err(err).Msg("read bindings of before: failed")
	}
	f.routing.Store(f.routing.Load().with(m))
	var lanes, runtimes sync.WaitGroup
	lanes.Go(func() { f.followMoves(ctx) })
	lanes.Go(func() { f.watchMemory(ctx) })
	lanes.Go(func() { f.parts.questions.follow(ctx, f.parts) })
	f.mu.Lock()
	f.begin = func(r *Runtime) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		runtimes.Go(func() {
			defer cancel()
			_ = r.Run(ctx, work)
		})
		return cancel
	}
	f.beginOn = func(d *feeder) { lanes.Go(func() { _ = d.lane.Run(ctx, hold) }) }
	for _, r := range f.runtimes() {
		f.stoppers[r] = f.begin(r)
	}
	for _, d := range *f.lanes.Load() {
		f.beginOn(d)
	}
	f.mu.Unlock()
	lanes.Go(func() { f.endOrphans(ctx) })
	<-ctx.Done()
	f.mu.Lock() // from here on nothing changes any more
	f.begin, f.beginOn = nil, nil
	for _, d := range *f.lanes.Load() {
		d.leave()
	}
	for _, stop := range f.stoppers {
		stop()
	}
	f.mu.Unlock()
	runtimes.Wait()
	release()
	lanes.Wait()
	f.ending.Wait()
	f.parts.crew.dismiss()
	return nil
}

// openSigner waits for the key that route messages are signed with, unless the host has
// it already. Without it no agent's word would count.
func (f *Fleet) openSigner(ctx context.Context) {
	for f.parts.Publisher.Signer() == nil {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		signer, err := signing.Open(try, f.js)
		cancel()
		switch {
		case err == nil:
			f.parts.Publisher.SignWith(signer)
		case ctx.Err() != nil:
			return
		default:
			f.parts.Log.Warn().Err(err).Msg("read the key for route messages: failed; trying again")
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// ErrNotServing tells that a fleet does not run, or is about to end.
var ErrNotServing = errors.New("the host does not serve just now")

// Change makes runtimes all that is served; changes are what gives those that
// stay other settings. What is stored by when it returns is for the agents that
// were bound to it before, what comes later for those that are now, on all hosts
// of the fleet. An agent that is gone finishes its runs, answers what waits behind
// them with an error, and then its runtime ends. That NATS is away is waited for until ctx ends. One Change at a time.
func (f *Fleet) Change(ctx context.Context, runtimes []*Runtime, changes []func()) error {
	before := f.routing.Load().bindings()
	if !f.open(runtimes, changes) {
		return ErrNotServing
	}
	claimed := f.claim(ctx, f.claims(runtimes)) // first, so that nothing falls between two lanes
	m, wait, err := f.agree(ctx, before, newRouting(runtimes, f.count, nil).bindings())
	if err != nil {
		m, wait = f.routing.Load().moves, 0
	}
	f.route(func(v *routing) *routing { return newRouting(runtimes, f.count, m).leaving(v) })
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	f.route(func(v *routing) *routing { return newRouting(runtimes, f.count, v.moves) })
	f.stopOthers(runtimes)
	return errors.Join(claimed, err)
}

// open makes changes, and begins what has to run for runtimes.
func (f *Fleet) open(runtimes []*Runtime, changes []func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begin == nil {
		return false
	}
	for _, c := range changes {
		c()
	}
	for _, r := range runtimes {
		if f.stoppers[r] == nil {
			f.stoppers[r] = f.begin(r)
		}
	}
	lanes := maps.Clone(*f.lanes.Load())
	for id, subjects := range f.claims(runtimes) {
		if lanes[id] == nil {
			lanes[id] = f.feeder(id, subjects)
			f.beginOn(lanes[id])
		}
	}
	f.lanes.Store(&lanes)
	return true
}

// claim has the lanes take more. What nobody is bound to any more they go on to
// take: another host may still need it.
func (f *Fleet) claim(ctx context.Context, claims map[laneID][]string) error {
	var errs []error
	for id, subjects := range claims {
		errs = append(errs, (*f.lanes.Load())[id].lane.Claim(ctx, subjects))
	}
	return errors.Join(errs...)
}

// route goes over to another routing.
func (f *Fleet) route(change func(*routing) *routing) {
	for {
		v := f.routing.Load()
		if f.routing.CompareAndSwap(v, change(v)) {
			break
		}
	}
	for _, d := range *f.lanes.Load() {
		d.again()
	}
}

func (f *Fleet) stopOthers(runtimes []*Runtime) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.stoppers {
		if !slices.Contains(runtimes, r) {
			r.retire()
			delete(f.stoppers, r)
		}
	}
}

// runtimes are those that are served, in the order of the configuration.
func (f *Fleet) runtimes() []*Runtime { return f.routing.Load().agents }

// Runtime is that of an agent, nil when it is not served.
func (f *Fleet) Runtime(agent string) *Runtime { return f.routing.Load().byID[agent] }

// Up waits until every lane asks for messages.
func (f *Fleet) Up(ctx context.Context) error {
	for _, d := range *f.lanes.Load() {
		select {
		case <-d.lane.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Status reports what every agent is doing.
func (f *Fleet) Status() []Status {
	runtimes := f.runtimes()
	list := make([]Status, len(runtimes))
	for i, r := range runtimes {
		list[i] = r.Status()
		list[i].Serving = f.serves(r.id)
	}
	return list
}

// Suspects is how many runs of each agent may have ended their host, and wait to be
// tried again.
func (f *Fleet) Suspects() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, r := range f.runtimes() {
			if !yield(r.id, r.suspectsWaiting()) {
				return
			}
		}
	}
}

// Serving is how many of its lanes this host serves, and how many there are.
func (f *Fleet) Serving() (serving, all int) {
	lanes := *f.lanes.Load()
	for _, d := range lanes {
		if d.lane.Serving() {
			serving++
		}
	}
	return serving, len(lanes)
}
