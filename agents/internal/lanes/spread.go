package lanes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// A Share is what the placement gives this host.
type Share struct {
	Weight int
	Lanes  []int // that are served here, or would be if anything came; those of partitions left out
	Share  int   // how many these are once the fleet is even
}

// A spread keeps the lanes of the fleet spread over its hosts. NATS decides who serves a
// lane: a host only asks for those that the placement gives it, and hands over what it
// has beyond that. While a host that should serve a lane does not ask for it, all others
// do, and so they do when it dies.
type spread struct {
	set    *Set
	id     string // of this run of the host
	nc     *nats.Conn
	roster roster
	named  *nats.Subscription // on which hosts of this name are told of this one; nil: not yet
	balance
	changed  chan struct{} // a token when a lane has come, or the host is to leave
	namesake atomic.Bool   // another host of this name lives

	mu      sync.Mutex
	fleet   string
	arrived map[int]bool // the lanes that have come from another host, until they are noted
	peers   []peer       // that lanes may go to
	ready   []int        // lanes that it asks for once the host that serves them does not
	state   string
}

func newSpread(s *Set) *spread {
	p := &spread{set: s, id: rand.Text(), nc: s.JS.Conn(), changed: make(chan struct{}, 1), arrived: map[int]bool{}}
	p.roster = roster{self: p.id, peers: map[string]peer{}}
	p.balance = newBalance()
	return p
}

// run follows the other hosts until ctx ends. Then this one is gone.
func (p *spread) run(ctx context.Context) {
	defer p.unname()
	if p.roster.fleet == "" {
		return // the host has ended before it could be found out
	}
	heard := make(chan *nats.Msg, 256)
	sub, err := p.nc.ChanSubscribe(presenceSubject, heard)
	if err != nil {
		p.set.Log.Error().Err(err).Msg("follow hosts: failed; lanes stay where they are")
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	tick := time.NewTicker(presenceEvery)
	defer tick.Stop()
	p.roster.since = time.Now()
	for {
		p.rejoin()
		p.publish(p.self())
		p.decide(ctx)
		for next := false; !next; {
			select {
			case <-ctx.Done():
				last := p.self()
				last.State = gone
				p.publish(last)
				return
			case m := <-heard:
				next = p.hear(m.Data)
				p.decide(ctx)
			case <-p.changed:
				next = true
			case <-tick.C:
				p.expire()
				next = true
			}
		}
	}
}

// identify finds out what tells this fleet from others that are heard, say through a
// leaf node: when its first stream was made.
func (p *spread) identify(ctx context.Context) bool {
	for ctx.Err() == nil {
		stream, err := p.set.JS.Stream(ctx, bus.InboundStream)
		if err == nil {
			p.belong(stream.CachedInfo().Created)
			p.roster.fleet = p.fleetNow()
			return true
		}
		bus.Pause(ctx, time.Second)
	}
	return false
}

// belong notes when the first stream of the fleet was made. It may be made again while hosts run:
// those that start later know the fleet by the new one.
func (p *spread) belong(created time.Time) {
	fleet := fmt.Sprint(created.UnixNano())
	p.mu.Lock()
	changed := p.fleet != fleet
	p.fleet = fleet
	p.mu.Unlock()
	if changed {
		p.wake()
	}
}

func (p *spread) fleetNow() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fleet
}

// rejoin has the host be of the fleet as it is called by now.
func (p *spread) rejoin() {
	fleet := p.fleetNow()
	if fleet == p.roster.fleet {
		return
	}
	p.set.Log.Warn().Str("stream", bus.InboundStream).
		Msg("the stream was made again: look for the other hosts of the fleet once more")
	p.roster.fleet, p.roster.since = fleet, time.Now()
	p.name()
}

// self describes this host.
func (p *spread) self() peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, idle, serves := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for id, f := range *p.set.lanes.Load() {
		if f.former() {
			continue
		}
		all[id.n] = true
		if !f.lane.Asks() {
			idle[id.n] = true
		}
		if f.lane.Serving() {
			serves[id.n] = true
		}
	}
	lanes := slices.Sorted(maps.Keys(all))
	return peer{
		Fleet: p.fleet, Host: p.set.Host, ID: p.id, Weight: cmp.Or(p.set.Weight, 1), State: p.state,
		Lanes: lanes, Serves: slices.Sorted(maps.Keys(serves)),
		Asks: slices.DeleteFunc(slices.Clone(lanes), func(n int) bool { return idle[n] }), Ready: p.ready,
	}
}

func (p *spread) publish(self peer) {
	data, err := json.Marshal(self)
	if err == nil {
		err = p.nc.Publish(presenceSubject, data)
	}
	if err != nil {
		p.set.Few.Debug().Err(err).Msg("publish presence")
	}
}

// decide does what the placement wants of this host.
func (p *spread) decide(ctx context.Context) {
	self, others := p.self(), p.roster.serving()
	if runs := p.roster.runs(); runs != nil {
		p.set.Finishing.Alive(runs)
	}
	p.mu.Lock()
	p.peers = others
	for lane := range p.arrived {
		p.came[lane] = time.Now()
		delete(p.arrived, lane)
	}
	p.mu.Unlock()
	if self.State == leaving {
		return
	}
	d := p.balance.decide(self, others, p.set.asks)
	p.setReady(d.ready)
	p.set.share.Store(&Share{Weight: self.Weight, Lanes: slices.DeleteFunc(slices.Clone(d.mine), isPartition), Share: d.share})
	for id, f := range *p.set.lanes.Load() {
		if !slices.Contains(d.give, id.n) {
			f.lane.Ask(!slices.Contains(d.rest, id.n))
		}
	}
	for _, lane := range d.give {
		p.set.Log.Info().Str("to", d.placed[lane]).Str("lane", p.set.laneName(lane)).Msg("hand lane over: hosts take their shares")
		p.set.handOver(ctx, lane)
		delete(p.away, lane)
		p.publish(p.self()) // it may have taken seconds
	}
}

// setReady has the others hear at once what this host is ready for.
func (p *spread) setReady(lanes []int) {
	p.mu.Lock()
	changed := !slices.Equal(p.ready, lanes)
	p.ready = lanes
	p.mu.Unlock()
	if changed {
		p.wake()
	}
}

// leave says that this host serves no more lanes, and whether another one may.
func (p *spread) leave() (others bool) {
	p.mu.Lock()
	p.state = leaving
	others = len(p.peers) > 0
	p.mu.Unlock()
	p.wake()
	return others
}

// gained notes that a lane has come from a host that may live.
func (p *spread) gained(lane int) {
	p.mu.Lock()
	p.arrived[lane] = true
	p.mu.Unlock()
	p.wake()
}

func (p *spread) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
