package lanes

import (
	"bytes"
	"slices"
	"time"

	"agenthost/bus/delivery"
)

// misnamed is the agent that a message on a channel names and that is not bound to it, as far
// as the hosts of the fleet know: all that are bound pass such a message over. It is empty for
// all other messages.
func (v *routing) misnamed(d *delivery.Delivery) string {
	if _, door := doorOf(d.Subject); door || !mayName(d) {
		return ""
	}
	name := Named(d)
	if name == "" || slices.Contains(v.anyBound(d.Subject, d.Stored), name) {
		return ""
	}
	return name
}

// mayName reports whether a message may name an agent, without reading it: JSON can write a
// name with escapes.
func mayName(d *delivery.Delivery) bool {
	data := d.Data()
	return addressee(d) != "" || bytes.Contains(data, []byte(`"agent"`)) || bytes.IndexByte(data, '\\') >= 0
}

// anyBound are the agents of all lanes that are bound to a subject or were when a message was
// stored, and those that they shadow, sorted.
func (v *routing) anyBound(subject string, stored time.Time) []string {
	ids := slices.Clone(v.boundTo(subject, stored))
	for _, lane := range v.lanes {
		for _, r := range lane.takers(subject) {
			ids = append(ids, r.ID())
			if of := r.ShadowOf(); of != "" {
				ids = append(ids, of)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// firstLane is the first lane that has takers of a message.
func (v *routing) firstLane(subject string, stored time.Time) int {
	for n := range v.lanes {
		if list, _ := v.takers(n, subject, stored); len(list) > 0 {
			return n
		}
	}
	return -1
}

// welcomes reports whether one of the agents that are bound to a message's channel takes
// messages of its sender.
func (v *routing) welcomes(d *delivery.Delivery) bool {
	return slices.ContainsFunc(v.lanes, func(lane *directory) bool {
		return slices.ContainsFunc(lane.takers(d.Subject), func(r Agent) bool { return r.Welcomes(d) })
	})
}

// endMisnamed ends a message that names no agent of its channel, in one of the lanes that
// bring it. Who may write to none of its agents is not told.
func (f *feeder) endMisnamed(v *routing, d *delivery.Delivery, name string) {
	if v.firstLane(d.Subject, d.Stored) != f.n {
		d.Done()
		return
	}
	f.log.Warn().Str("subject", d.Subject).Uint64("seq", d.Seq).Str("agent", name).Msg("a message names an agent that is not bound to its channel")
	m := messageOf(Unbound, d)
	m.Named = name
	f.set.ending.Go(func() {
		if v.welcomes(d) {
			f.endOne(m, d)
		} else {
			d.Done()
		}
	})
}
