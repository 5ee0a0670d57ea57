package lanes

import (
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
)

// A routing is whom messages are for. It does not change; a Fleet goes over from
// one to the next.
type routing struct {
	agents []Agent          // that are served, in their order
	byID   map[string]Agent // these, and those about to leave
	lanes  []*directory     // of the agents, by the number of the lane
	moves  moves
	own    moves // the bindings of agents to channels: they count where there are no moves

	shadows map[string][]Agent // by the agent that they shadow
}

func newRouting(agents []Agent, count int, m moves) *routing {
	v := &routing{agents: agents, byID: map[string]Agent{}, lanes: make([]*directory, count), moves: m, own: moves{}, shadows: map[string][]Agent{}}
	for n := range v.lanes {
		v.lanes[n] = newDirectory(nil)
	}
	for _, r := range agents {
		v.byID[r.ID()] = r
		v.lanes[Of(r.ID(), count)].add(r)
		if of := r.ShadowOf(); of != "" {
			v.shadows[of] = append(v.shadows[of], r)
		}
	}
	for s, ids := range v.bindings() {
		if isChannel(s) {
			v.own[s] = history{{To: ids}}
		}
	}
	return v
}

// leaving adds those of old that are not served any more.
func (v *routing) leaving(old *routing) *routing {
	for id, r := range old.byID {
		if v.byID[id] == nil {
			v.byID[id] = r
		}
	}
	return v
}

// with is the routing after other moves.
func (v *routing) with(m moves) *routing {
	next := *v
	next.moves = m
	return &next
}

// asRouted is the subject by which agents are found: what is due for one is for
// the agent that its routes are for.
func asRouted(subject string) string {
	if agent, ok := strings.CutPrefix(subject, bus.DuePrefix); ok {
		return bus.RoutePrefix + agent
	}
	return subject
}

// takers are the agents of a lane that a message is for. If complete is false
// there are others, which another host may know already and this one does not
// yet.
func (v *routing) takers(lane int, subject string, stored time.Time) (list []Agent, complete bool) {
	subject = asRouted(subject)
	route := strings.HasPrefix(subject, bus.RoutePrefix)
	if route { // of an agent alone, also where it was away when the message came
		if list = v.lanes[lane].takers(subject); len(list) > 0 {
			return list, true
		}
	}
	narrow, wide := v.bound(subject, stored)
	switch {
	case len(narrow.ids)+len(wide.ids) > 0:
	case route && len(v.moves[subject]) > 0: // it was removed
		return nil, true
	default:
		return nil, route && v.isTaken(subject)
	}
	list, some := v.of(lane, narrow)
	others, all := v.of(lane, wide)
	return joined(list, others), some && all
}

// A span is the agents that take what was stored on a subject at a time, by one kind of
// binding.
type span struct {
	ids  []string
	last bool     // they still do
	now  []string // who do
}

// bound are the agents that take what was stored on a subject at a time: those that were bound
// to it alone, and those that were to every instance of its channel. Where none was, they are
// the first that were after that.
func (v *routing) bound(subject string, stored time.Time) (narrow, wide span) {
	h, all := v.history(subject), history(nil)
	if channel := wideChannel(subject); channel != "" {
		all = v.history(bus.InboundPrefix + channel + everyInstance)
	}
	narrow, wide = h.span(history.at, stored), all.span(history.at, stored)
	if len(narrow.ids)+len(wide.ids) > 0 {
		return narrow, wide
	}
	return h.span(history.next, stored), all.span(history.next, stored)
}

func (v *routing) history(key string) history {
	if h := v.moves[key]; len(h) > 0 {
		return h
	}
	return v.own[key]
}

func (h history) span(of func(history, time.Time) ([]string, bool), stored time.Time) span {
	ids, last := of(h, stored)
	return span{ids, last, h.now()}
}

// removed are the agents of a lane that a message is for, when all that were bound to
// its subject have been removed. Of a channel that is the business of those that were
// bound when the message was stored.
func (v *routing) removed(lane int, subject string, stored time.Time) (list []string) {
	subject = asRouted(subject)
	if len(v.moves) == 0 || v.isTaken(subject) {
		return nil
	}
	ids := v.boundTo(subject, stored)
	if agent, ok := strings.CutPrefix(subject, bus.RoutePrefix); ok && len(v.moves[subject]) > 0 {
		ids = []string{agent}
	}
	for _, id := range ids {
		if v.byID[id] == nil && Of(id, len(v.lanes)) == lane {
			list = append(list, id)
		}
	}
	return list
}

// boundTo are the agents that take what was stored on a subject at a time.
func (v *routing) boundTo(subject string, at time.Time) []string {
	narrow, wide := v.bound(subject, at)
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(narrow.ids, wide.ids))))
}

// isTaken reports whether an agent of any lane is bound to subject.
func (v *routing) isTaken(subject string) bool {
	return slices.ContainsFunc(v.lanes, func(d *directory) bool { return len(d.takers(subject)) > 0 })
}

// of are those of a lane, as far as this host knows them.
func (v *routing) of(lane int, bound span) (list []Agent, complete bool) {
	mine := 0
	for _, id := range bound.ids {
		if Of(id, len(v.lanes)) != lane {
			continue
		}
		mine++
		if r := v.byID[id]; r != nil {
			list = append(list, r)
		}
	}
	if bound.last {
		return list, len(list) == mine
	}
	if mine > 0 && len(v.known(bound.ids)) == 0 { // they are gone: others have their place
		list = v.known(bound.now)
	}
	return list, true
}

func (v *routing) known(ids []string) []Agent {
	var list []Agent
	for _, id := range ids {
		if r := v.byID[id]; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// bindings are the agents of all subjects, sorted.
func (v *routing) bindings() map[string][]string {
	all := map[string][]string{}
	for _, r := range v.agents {
		for _, s := range append(r.Bindings(), bus.RoutePrefix+r.ID()) {
			if !slices.Contains(all[s], r.ID()) {
				all[s] = append(all[s], r.ID())
			}
		}
	}
	for ids := range maps.Values(all) {
		slices.Sort(ids)
	}
	return all
}
