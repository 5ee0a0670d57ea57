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

	shadows map[string][]Agent // by the agent that they shadow
}

func newRouting(agents []Agent, count int, m moves) *routing {
	v := &routing{agents: agents, byID: map[string]Agent{}, lanes: make([]*directory, count), moves: m, shadows: map[string][]Agent{}}
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
	here, wide := v.lanes[lane], wideChannel(subject)
	if strings.HasPrefix(subject, bus.RoutePrefix) { // of an agent alone, also where it was away when the message came
		if list = here.takers(subject); len(list) > 0 {
			return list, true
		}
	}
	narrowMoves, wideMoves := v.moves[subject], history(nil)
	if len(v.moves) > 0 && wide != "" {
		wideMoves = v.moves[bus.InboundPrefix+wide+everyInstance]
	}
	if len(narrowMoves)+len(wideMoves) == 0 {
		list = here.takers(subject)
		return list, len(list) > 0 || v.isTaken(subject)
	}
	narrow, some := v.of(lane, here.bound[subject], narrowMoves, stored)
	others, all := v.of(lane, here.wide[wide], wideMoves, stored)
	return joined(narrow, others), some && all
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

// boundTo are the agents that were bound to subject at a time, as far as there are
// moves.
func (v *routing) boundTo(subject string, at time.Time) []string {
	h := v.moves[subject]
	if wide := wideChannel(subject); len(h) == 0 && wide != "" {
		h = v.moves[bus.InboundPrefix+wide+everyInstance]
	}
	if len(h) == 0 {
		return nil
	}
	ids, _ := h.at(at)
	return ids
}

// isTaken reports whether an agent of any lane is bound to subject.
func (v *routing) isTaken(subject string) bool {
	return slices.ContainsFunc(v.lanes, func(d *directory) bool { return len(d.takers(subject)) > 0 })
}

// of are those of a lane that were bound when the message was stored; now are
// those that are.
func (v *routing) of(lane int, now []Agent, h history, stored time.Time) (list []Agent, complete bool) {
	if len(h) == 0 {
		return now, true
	}
	ids, last := h.at(stored)
	mine := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return Of(id, len(v.lanes)) != lane })
	list = v.known(mine)
	if last {
		return list, len(list) == len(mine)
	}
	if len(mine) > 0 && len(v.known(ids)) == 0 { // they are gone: others have their place
		list = v.known(h[len(h)-1].To)
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
