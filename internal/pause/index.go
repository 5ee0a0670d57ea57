package pause

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Index is the pauses as a host knows them. It is safe for concurrent use.
type Index struct {
	js  jetstream.JetStream
	log zerolog.Logger

	mu      sync.Mutex
	entries map[string]Pause // by key
	waiting map[any]func()   // for a change
	whole   chan struct{}
	once    sync.Once
}

// NewIndex makes an Index, which knows nothing until it runs.
func NewIndex(js jetstream.JetStream, log zerolog.Logger) *Index {
	return &Index{js: js, log: log, entries: map[string]Pause{}, waiting: map[any]func(){}, whole: make(chan struct{})}
}

// Run follows the pauses until ctx ends.
func (x *Index) Run(ctx context.Context) {
	records.Mirror(ctx, x.js, bus.LanesBucket, x.log, x.take, func() { x.once.Do(func() { close(x.whole) }) })
}

// Whole is closed once the index has all that was there.
func (x *Index) Whole() <-chan struct{} { return x.whole }

func (x *Index) take(e jetstream.KeyValueEntry) {
	if !strings.HasPrefix(e.Key(), keyPrefix) {
		return
	}
	x.mu.Lock()
	former, known := x.entries[e.Key()]
	if p, ok := read(e.Key(), e.Value()); ok && e.Operation() == jetstream.KeyValuePut {
		x.entries[e.Key()] = p
		if !known {
			x.log.Info().Str("what", p.String()).Str("by", p.By).Str("reason", p.Reason).Msg("paused")
		}
		x.mu.Unlock()
		return
	}
	delete(x.entries, e.Key())
	waiting := x.waiting
	x.waiting = map[any]func(){}
	x.mu.Unlock()
	if known {
		x.log.Info().Str("what", former.String()).Msg("resumed")
	}
	for _, then := range waiting {
		then()
	}
}

// Holds reports whether what comes to an agent by a channel, such as telegram.sales or
// none, is to wait. If it is, then is called after the next change, once for each who.
func (x *Index) Holds(agent, channel string, who any, then func()) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.of(agent, channel); !ok {
		return false
	}
	if then != nil {
		x.waiting[who] = then
	}
	return true
}

// Of is the pause of an agent, or of all.
func (x *Index) Of(agent string) (Pause, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.of(agent, "")
}

// OfChannels are the pauses of channels that an agent is bound to, such as telegram.sales or
// telegram.*, in the order of their names; all reports whether nothing begins that comes by any.
func (x *Index) OfChannels(bound []string) (held []Pause, all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all = len(bound) > 0
	for _, channel := range bound {
		name, instance, _ := strings.Cut(channel, ".")
		whole := false
		for _, p := range x.entries {
			is := p.Channel == channel || p.Channel == name
			whole = whole || is
			if is || instance == "*" && strings.HasPrefix(p.Channel, name+".") {
				held = append(held, p)
			}
		}
		all = all && whole
	}
	slices.SortFunc(held, func(a, b Pause) int { return cmp.Compare(a.Channel, b.Channel) })
	return slices.CompactFunc(held, func(a, b Pause) bool { return a.Channel == b.Channel }), all
}

// of is called with the lock held.
func (x *Index) of(agent, channel string) (Pause, bool) {
	if len(x.entries) == 0 {
		return Pause{}, false
	}
	targets := []Target{{All: true}, {Agent: agent}}
	if channel != "" {
		name, _, _ := strings.Cut(channel, ".")
		targets = append(targets, Target{Channel: name}, Target{Channel: channel})
	}
	for _, t := range targets {
		if p, ok := x.entries[t.key()]; ok {
			return p, true
		}
	}
	return Pause{}, false
}

// All are those that hold, in no order.
func (x *Index) All() []Pause {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []Pause
	for _, p := range x.entries {
		list = append(list, p)
	}
	return list
}
