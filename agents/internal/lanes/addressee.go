package lanes

import (
	"slices"

	"agenthost/bus"
	"agenthost/bus/delivery"
)

// addressee is the agent that the header of a message on a channel names: that agent alone takes
// it, and not its shadows either. A message that cannot be read is so for one agent as well.
func addressee(d *delivery.Delivery) string {
	if d.Stream() != bus.InboundStream {
		return ""
	}
	return d.Header().Get(bus.AddresseeHeader)
}

// addressed are those of takers that a message is for by its header. It is complete as soon as
// the one that the header names is among them, and in the lanes of others.
func (f *feeder) addressed(d *delivery.Delivery, takers []Agent, complete bool) (list []Agent, all bool) {
	agent := addressee(d)
	if agent == "" {
		return takers, complete
	}
	i := slices.IndexFunc(takers, func(a Agent) bool { return a.ID() == agent })
	if i < 0 {
		return nil, complete || Of(agent, len(f.set.routing.Load().lanes)) != f.n
	}
	return takers[i : i+1 : i+1], true
}

// addressedOf is addressed for agents by their ids.
func addressedOf(d *delivery.Delivery, ids []string) []string {
	agent := addressee(d)
	if agent == "" {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id != agent })
}
