package agents

import (
	"slices"
	"sync/atomic"
)

// Peers list the agents that there are, for those that hand work to
// others. They may be replaced meanwhile. The zero Peers are empty.
type Peers struct{ list atomic.Pointer[[]Peer] }

// A Peer is an agent as others see it.
type Peer struct {
	ID, Description string
	Accepts         []string // whose work it takes; empty: everyone's
}

// takesFrom reports whether the peer takes work from an agent.
func (p Peer) takesFrom(agent string) bool { return len(p.Accepts) == 0 || allows(p.Accepts, agent) }

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
