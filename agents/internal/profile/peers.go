package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"agenthost/agents"
)

// Peers list the agents that there are, for those that hand work to
// others. They may be replaced meanwhile. The zero Peers are empty.
type Peers struct{ list atomic.Pointer[[]Peer] }

// A Peer is an agent as others see it.
type Peer struct {
	ID, Description string
	Accepts         []string // whose work it takes; nil: everyone's
	Channels        []agents.Binding
}

// TakesFrom reports whether the peer takes work from an agent.
func (p Peer) TakesFrom(agent string) bool { return p.Accepts == nil || Allows(p.Accepts, agent) }

// Set makes list all that there is; it is not to be changed afterwards.
func (p *Peers) Set(list []Peer) { p.list.Store(&list) }

// All are the agents, in their order.
func (p *Peers) All() []Peer {
	if list := p.list.Load(); list != nil {
		return *list
	}
	return nil
}

// Has reports whether there is an agent of that id.
func (p *Peers) Has(id string) bool {
	return slices.ContainsFunc(p.All(), func(o Peer) bool { return o.ID == id })
}

// Hear reports whether an agent is bound to the subject of a channel.
func (p *Peers) Hear(id, subject string) bool {
	return slices.ContainsFunc(p.All(), func(o Peer) bool { return o.ID == id && bindingOf(o.Channels, subject) != nil })
}

// Allows reports whether a list of agents, or "*" for all, has one.
func Allows(list []string, id string) bool {
	return slices.Contains(list, id) || slices.Contains(list, "*")
}

// peers tells a model which agents it can ask for what.
func peers(cfg agents.Config, box *Toolbox, others *Peers) string {
	if len(cfg.Delegates) == 0 || !box.Grant.Allows("delegate") {
		return ""
	}
	b := strings.Builder{}
	for _, peer := range others.All() {
		if peer.ID != cfg.ID && Allows(cfg.Delegates, peer.ID) && peer.TakesFrom(cfg.ID) {
			fmt.Fprintf(&b, "\n- %s: %s", peer.ID, cmp.Or(peer.Description, "no description"))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "You can hand work to these agents with the tool delegate:" + b.String()
}

// Title is the name by which an agent is spoken of: its id with a capital.
func Title(id string) string {
	first, n := utf8.DecodeRuneInString(id)
	return string(unicode.ToUpper(first)) + id[n:]
}

// MaxDepth is how many agents a task may pass through on its way to the one
// that does it: so many may wait for it.
const MaxDepth = 8
