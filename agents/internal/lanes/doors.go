package lanes

import (
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// What comes by a door names its agent. All agents may be bound to all doors: it is
// routed by that name, as what is on the agent's own subject is, and looked into once
// a lane.

// doorOf is the door by which a message came.
func doorOf(subject string) (door string, ok bool) {
	channel, _, _ := bus.Channel(subject)
	return channel, bus.IsDoor(channel)
}

// Named is the agent that a message on a channel names, empty when it names none.
func Named(d *delivery.Delivery) string {
	if agent := addressee(d); agent != "" {
		return agent
	}
	return nameIn(d.Data())
}

// nameIn is the agent that an envelope names.
func nameIn(data []byte) string {
	var in struct {
		Agent string `json:"agent"`
	}
	_ = bus.ReadFields(data, &in) // what is no envelope names none
	return in.Agent
}

// claimDoors adds to what the lanes of agents take the doors that lead to them, once a
// lane.
func (s *Set) claimDoors(agents []Agent, claims map[laneID][]string) {
	doors := map[laneID]map[string]bool{}
	for _, a := range agents {
		id := laneID{bus.InboundStream, Of(a.ID(), s.Count)}
		if doors[id] == nil {
			doors[id] = map[string]bool{}
		}
		for _, door := range a.Doors() {
			if !doors[id][door] {
				doors[id][door] = true
				claims[id] = append(claims[id], bus.InboundPrefix+door, bus.InboundPrefix+door+everyInstance)
			}
		}
	}
}

// behindDoor are those of the lane that a door leads to from the name of an agent: that
// agent and its shadows. It is complete as it is for the agent's own subject.
func (v *routing) behindDoor(lane int, door, agent string, stored time.Time) (list []Agent, complete bool) {
	complete = true
	if Of(agent, len(v.lanes)) == lane {
		list, complete = v.takers(lane, bus.RoutePrefix+agent, stored)
	}
	list = append(slices.Clip(list), v.shadows[agent]...)
	return slices.DeleteFunc(list, func(a Agent) bool {
		return Of(a.ID(), len(v.lanes)) != lane || !slices.Contains(a.Doors(), door)
	}), complete
}

// takers are the agents of this host that a message is for, as in routing.takers.
func (f *feeder) takers(v *routing, d *delivery.Delivery) (list []Agent, complete bool) {
	door, ok := doorOf(d.Subject)
	if !ok {
		return v.takers(f.n, d.Subject, d.Stored)
	}
	agent := Named(d)
	if agent == "" {
		return nil, true
	}
	return v.behindDoor(f.n, door, agent, d.Stored)
}

// removed are the agents in whose place a message is ended that no agent takes, as in
// routing.removed.
func (f *feeder) removed(v *routing, d *delivery.Delivery) []string {
	subject := d.Subject
	if _, ok := doorOf(subject); ok {
		agent := Named(d)
		switch {
		case agent == "":
			return []string{Unbound}
		case Of(agent, len(v.lanes)) != f.n:
			return nil
		}
		subject = bus.RoutePrefix + agent
	}
	return v.removed(f.n, subject, d.Stored)
}
