package agents

import (
	"slices"
	"sync/atomic"
)

// Peers list the agents that there are, for those that hand work to
// others. They may be replaced meanwhile. The zero Peers are empty.
type Peers struct{ list atomic.Pointer[[]Peer] }

// A Peer is an agent as others see it.
type Peer struct{ ID, Description string }

// Set makes list all that there is; it is not to be changed afterwards.
func (p *Peers) Set(list []Peer) { p.list.Store(&list) }

func (p *Peers) all() []Peer {
	if list := p.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (p *Peers) has(id string) bool {
	return slices.ContainsFunc(p.all(), func(o Peer) bool { return o.ID == id })
}
