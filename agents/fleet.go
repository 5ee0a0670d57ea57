package agents

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// A Fleet is this host's share of the agents: their runtimes and the lanes that
// feed them.
type Fleet struct {
	runtimes []*Runtime
	lanes    []*bus.Lane
}

// NewFleet joins runtimes to count lanes. Which lane is an agent's follows from
// its id alone, so that all hosts agree.
func NewFleet(js jetstream.JetStream, parts *Parts, count int, runtimes []*Runtime) *Fleet {
	parts.suspects = make(chan struct{}, 1)
	f := &Fleet{runtimes: runtimes}
	byLane := make([][]*Runtime, count)
	for _, r := range runtimes {
		n := LaneOf(r.ID(), count)
		byLane[n] = append(byLane[n], r)
	}
	for n, agents := range byLane {
		var bindings, routes []string
		for _, r := range agents {
			bindings = append(bindings, r.Bindings()...)
			routes = append(routes, bus.RoutePrefix+r.ID())
		}
		f.join(js, parts, bus.InboundStream, n, bindings, agents)
		f.join(js, parts, bus.RoutesStream, n, routes, agents)
	}
	return f
}

func (f *Fleet) join(js jetstream.JetStream, parts *Parts, stream string, n int, filters []string, agents []*Runtime) {
	if len(filters) == 0 {
		return
	}
	cfg := bus.LaneConfig{Stream: stream, Name: bus.LaneName(n), Filters: filters, Host: parts.Host}
	gained := func(context.Context) {
		for _, r := range agents {
			parts.event(r.ID(), "takeover", map[string]any{"stream": stream, "lane": cfg.Name})
		}
	}
	f.lanes = append(f.lanes, bus.NewLane(js, cfg, parts.Log, gained, newDirectory(agents).deliver))
}

// A directory knows the agents of a lane by what they are bound to: finding
// those that a message is for costs the same whatever their number.
type directory struct {
	bound map[string][]*Runtime // by the subject
	wide  map[string][]*Runtime // by the channel, of which they take every instance
}

func newDirectory(agents []*Runtime) *directory {
	d := &directory{bound: map[string][]*Runtime{}, wide: map[string][]*Runtime{}}
	for _, r := range agents {
		add(d.bound, bus.RoutePrefix+r.ID(), r)
		for _, b := range r.now().cfg.Channels {
			if b.Instance == everyInstance {
				add(d.wide, b.Channel, r)
			} else {
				add(d.bound, b.Subject(), r)
			}
		}
	}
	return d
}

// add adds r to those of key, once.
func add(to map[string][]*Runtime, key string, r *Runtime) {
	if !slices.Contains(to[key], r) {
		to[key] = append(to[key], r)
	}
}

// takers are the agents that are bound to subject.
func (d *directory) takers(subject string) []*Runtime {
	list := slices.Clip(d.bound[subject])
	channel, _, _ := bus.Channel(subject)
	for _, r := range d.wide[channel] {
		if _, ok := r.takes(subject); ok && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// deliver hands m to every agent that is bound to its subject. What nobody is
// bound to (any more) is done with.
func (d *directory) deliver(m *bus.Delivery) {
	takers := d.takers(m.Subject)
	if len(takers) == 0 {
		m.Done()
		return
	}
	m.Hold(len(takers))
	for _, r := range takers {
		r.offer(m)
	}
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
	var lanes, runtimes sync.WaitGroup
	for _, r := range f.runtimes {
		runtimes.Go(func() { _ = r.Run(ctx, work) })
	}
	for _, l := range f.lanes {
		lanes.Go(func() { _ = l.Run(ctx, hold) })
	}
	runtimes.Wait()
	release()
	lanes.Wait()
	return nil
}

// Up waits until every lane asks for messages.
func (f *Fleet) Up(ctx context.Context) error {
	for _, l := range f.lanes {
		select {
		case <-l.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Status reports what every agent is doing.
func (f *Fleet) Status() []Status {
	list := make([]Status, len(f.runtimes))
	for i, r := range f.runtimes {
		list[i] = r.Status()
	}
	return list
}

// StatusOf is the status of one agent, by its number in the order in which the
// fleet was given them.
func (f *Fleet) StatusOf(i int) Status { return f.runtimes[i].Status() }

// Serving is how many of its lanes this host serves, and how many there are.
func (f *Fleet) Serving() (serving, all int) {
	for _, l := range f.lanes {
		if l.Serving() {
			serving++
		}
	}
	return serving, len(f.lanes)
}
