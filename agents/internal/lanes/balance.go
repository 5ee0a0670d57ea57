package lanes

import (
	"maps"
	"slices"
	"time"

	"agenthost/internal/placement"
)

const (
	// settledFor is how long a lane has to be another host's by the placement before it
	// moves: hosts that start together are known by then.
	settledFor = 3 * time.Second
	// stayFor is how long a lane stays with the host that it has moved to.
	stayFor = 30 * time.Second
	// askWithin is how long a host by the placement may take to ask for a lane before others
	// do: of two that ask, each could get one of its streams.
	askWithin = 2 * time.Second
	// splitFor is how long two hosts have to serve streams of one lane before one gives in.
	splitFor = 2 * time.Second
	// askFor is how long a lane waits for answers that have to come by the host that it
	// is to leave.
	askFor = 5 * time.Minute
)

// A balance decides which lanes this host asks for and which it hands over.
type balance struct {
	away    map[int]intent    // the lanes that are another host's by the placement
	came    map[int]time.Time // when a lane has come from a host that lives
	unasked map[int]time.Time // since when a lane that rests here is not asked for by its host
	resting map[int]bool
}

func newBalance() balance {
	return balance{away: map[int]intent{}, came: map[int]time.Time{}, unasked: map[int]time.Time{}, resting: map[int]bool{}}
}

// An intent is to hand a lane over.
type intent struct {
	to    string
	since time.Time
}

// A decision is what becomes of the lanes of this host.
type decision struct {
	placed map[int]string // the host of each lane of the fleet
	share  int            // how many this host is to serve
	mine   []int          // that it serves, or would if anything came
	rest   []int          // not to be asked for: their host does
	ready  []int          // of these, those that this host asks for once the one that serves them does not
	give   []int          // to be handed over
}

// decide decides for self beside others; waits reports whether an answer has to come by
// this host's lane. While a host serves a lane no other asks for it: a lane is a consumer
// of each stream, and all of them have to come to one host. A lane is given up only when
// its host by the placement is ready for it.
func (b *balance) decide(self peer, others []peer, waits func(lane int) bool) decision {
	byName := map[string]*peer{} // nil: this host
	for _, p := range others {
		byName[p.Host] = &p
	}
	d := decision{placed: map[int]string{}}
	for _, partitions := range []bool{false, true} { // each kind is spread evenly by itself
		hosts := []placement.Host{self.placed(partitions)}
		for _, p := range others {
			hosts = append(hosts, p.placed(partitions))
		}
		maps.Copy(d.placed, placement.Place(hosts))
		if !partitions {
			d.share = placement.Shares(hosts)[self.Host]
		}
	}
	resting := map[int]bool{}
	for _, lane := range self.Lanes {
		to := byName[d.placed[lane]]
		if self.serves(lane) || to == nil && !slices.ContainsFunc(others, func(p peer) bool { return p.serves(lane) }) {
			d.mine = append(d.mine, lane)
		}
		if self.serves(lane) {
			if host := b.gives(lane, self, to, others, waits); host != "" {
				d.give = append(d.give, lane)
				d.placed[lane] = host
			}
			continue
		}
		delete(b.away, lane)
		if resting[lane] = b.rests(lane, to, others); resting[lane] {
			d.rest = append(d.rest, lane)
			if to == nil {
				d.ready = append(d.ready, lane)
			}
		}
	}
	b.resting = resting
	return d
}

// rests reports whether a lane that is not served here is not to be asked for either, as
// another host serves it, or its host by the placement asks for it or is about to.
func (b *balance) rests(lane int, to *peer, others []peer) bool {
	since, waiting := b.unasked[lane]
	delete(b.unasked, lane)
	switch {
	case slices.ContainsFunc(others, servesPart(lane)) || to != nil && to.wants(lane):
		return true
	case to == nil || !b.resting[lane]:
		return false
	case !waiting:
		since = time.Now()
	}
	b.unasked[lane] = since
	return time.Since(since) < askWithin
}

// gives is the host to which a lane that is served here is to be handed over now: its host
// by the placement, or one that serves a part of it; empty: none.
func (b *balance) gives(lane int, self peer, to *peer, others []peer, waits func(lane int) bool) string {
	split := slices.ContainsFunc(others, servesPart(lane))
	if split && (to == nil || !servesPart(lane)(*to)) {
		to = winner(lane, self, to, others)
	}
	if to == nil || !to.wants(lane) {
		delete(b.away, lane)
		return ""
	}
	if b.away[lane].to != to.Host {
		b.away[lane] = intent{to.Host, time.Now()}
	}
	settled := time.Since(b.away[lane].since)
	if split && settled >= splitFor ||
		settled >= settledFor && time.Since(b.came[lane]) >= stayFor && (settled >= askFor || !waits(lane)) {
		return to.Host
	}
	return ""
}

// winner is the host that gets the whole of a lane of which several hosts serve parts: this one, nil,
// if it is to serve it, else the first of them by name.
func winner(lane int, self peer, to *peer, others []peer) *peer {
	if to == nil {
		return nil
	}
	first, name := (*peer)(nil), self.Host
	for _, p := range others {
		if servesPart(lane)(p) && p.Host < name {
			first, name = &p, p.Host
		}
	}
	return first
}

// servesPart returns what reports whether a host serves a stream of a lane, and asks for
// the others.
func servesPart(lane int) func(peer) bool {
	return func(p peer) bool { return p.serves(lane) && p.asks(lane) }
}

// placed is the host with its lanes that are those of partitions, or that are not.
func (p peer) placed(partitions bool) placement.Host {
	other := func(lane int) bool { return isPartition(lane) != partitions }
	return placement.Host{
		Name: p.Host, Weight: p.Weight,
		Lanes: slices.DeleteFunc(slices.Clone(p.Lanes), other), Serves: slices.DeleteFunc(slices.Clone(p.Serves), other),
	}
}
