// Package finishing keeps which sessions are still at work on the host that served their
// lane before. A lane moves at once, and runs in progress end where they are: the new
// owner begins nothing in these sessions until they have ended there. That saves work
// from being done twice; what keeps it from counting twice is the fence of the log.
package finishing

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Within is how long a host may go on with what it has begun in a lane that it has
// handed over.
const Within = 15 * time.Minute

// A Handover is what a host goes on with after it has handed a lane over.
type Handover struct {
	Host     string              `json:"host"`
	Run      string              `json:"run"`   // of that host: another one of its name has begun none of it
	Until    time.Time           `json:"until"` // whatever is not finished then, the new owner takes over
	Sessions map[string][]string `json:"sessions"`
}

// An Index is the handovers to this host. It is safe for concurrent use; make one with
// NewIndex.
type Index struct {
	mu      sync.Mutex
	lanes   map[int]handover
	known   map[int]uint64 // by lane, the revision of what is known
	waiting map[any]waiter
	alive   map[string]string // the runs of the hosts that live; nil: they are not known yet
	former  map[any][]name    // by what was replaced on this host, what it is still at work on
}

// A handover is one, with its sessions to look up.
type handover struct {
	Handover
	sessions map[name]bool
}

// A name names a session.
type name struct{ agent, session string }

// A waiter is called when its session is free.
type waiter struct {
	name
	then func()
}

// NewIndex makes an Index without any.
func NewIndex() *Index {
	return &Index{lanes: map[int]handover{}, known: map[int]uint64{}, waiting: map[any]waiter{}, former: map[any][]name{}}
}

// SetFormer replaces what is known of who, a part of this host that was replaced: the sessions of an
// agent that it is still at work on.
func (x *Index) SetFormer(who any, agent string, sessions []string) {
	x.change(func() {
		delete(x.former, who)
		for _, session := range sessions {
			x.former[who] = append(x.former[who], name{agent, session})
		}
	})
}

// Set replaces what is known of a lane, unless something newer is.
func (x *Index) Set(lane int, revision uint64, h Handover) {
	x.change(func() {
		if revision < x.known[lane] {
			return
		}
		x.known[lane] = revision
		delete(x.lanes, lane)
		left := min(time.Until(h.Until), Within) // the clocks of hosts may differ
		if left > 0 && len(h.Sessions) > 0 && !x.gone(h) {
			h.Until = time.Now().Add(left)
			x.lanes[lane] = handover{h, namesOf(h)}
			time.AfterFunc(left, func() { x.change(func() {}) })
		}
	})
}

func namesOf(h Handover) map[name]bool {
	names := map[name]bool{}
	for agent, sessions := range h.Sessions {
		for _, session := range sessions {
			names[name{agent, session}] = true
		}
	}
	return names
}

// Alive says which hosts live: by their names, the run of each. What others were still at
// work on is free, now and when it becomes known.
func (x *Index) Alive(runs map[string]string) {
	x.mu.Lock()
	same := x.alive != nil && maps.Equal(x.alive, runs)
	x.mu.Unlock()
	if same {
		return
	}
	x.change(func() {
		x.alive = maps.Clone(runs)
		maps.DeleteFunc(x.lanes, func(_ int, h handover) bool { return x.gone(h.Handover) })
	})
}

// gone reports whether the host is known not to live. It is called with the lock held.
func (x *Index) gone(h Handover) bool { return x.alive != nil && x.alive[h.Host] != h.Run }

// Holds reports whether a session is at work on another host. If it is, then is called
// when that has ended, once for each who.
func (x *Index) Holds(agent, session string, who any, then func()) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := name{agent, session}
	if !x.holds(n) {
		return false
	}
	x.waiting[who] = waiter{n, then}
	return true
}

// Has reports whether a session is at work on another host.
func (x *Index) Has(agent, session string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.holds(name{agent, session})
}

// HasAny reports whether any session of an agent is.
func (x *Index) HasAny(agent string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.lanes {
		for n := range h.sessions {
			if n.agent == agent && time.Now().Before(h.Until) {
				return true
			}
		}
	}
	return false
}

// holds is called with the lock held.
func (x *Index) holds(n name) bool {
	for _, names := range x.former {
		if slices.Contains(names, n) {
			return true
		}
	}
	for _, h := range x.lanes {
		if h.sessions[n] && time.Now().Before(h.Until) {
			return true
		}
	}
	return false
}

// change changes the index, and calls those whose session is free.
func (x *Index) change(how func()) {
	var free []func()
	x.mu.Lock()
	how()
	for who, w := range x.waiting {
		if !x.holds(w.name) {
			delete(x.waiting, who)
			free = append(free, w.then)
		}
	}
	x.mu.Unlock()
	for _, then := range free {
		then()
	}
}
