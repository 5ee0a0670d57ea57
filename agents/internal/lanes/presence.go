package lanes

import (
	"encoding/json"
	"slices"
	"time"
)

const (
	// presenceSubject is where hosts say that they live, and what they serve.
	presenceSubject = "agenthost.hosts.presence"
	presenceEvery   = time.Second
	// presenceTTL is how long a host counts as alive that says nothing. It is less than
	// the pin of a dead host lasts: by then the others ask for its lanes.
	presenceTTL = 5 * time.Second
)

// A peer is a host of the fleet, as it describes itself.
type peer struct {
	Fleet  string `json:"fleet"` // hosts on another JetStream are not of this fleet
	Host   string `json:"host"`
	ID     string `json:"id"` // of this run of the host
	Weight int    `json:"weight"`
	State  string `json:"state,omitempty"` // empty: it serves
	Lanes  []int  `json:"lanes"`           // that it could serve
	Asks   []int  `json:"asks"`            // of these, those that it asks for messages
	Serves []int  `json:"serves"`          // and those that bring it some
	Ready  []int  `json:"ready,omitempty"` // those that it asks for once the host that serves them does not

	heard time.Time
}

// States of a peer.
const (
	leaving = "leaving" // it finishes what it has begun
	gone    = "gone"
)

func (p peer) asks(lane int) bool   { return slices.Contains(p.Asks, lane) }
func (p peer) serves(lane int) bool { return slices.Contains(p.Serves, lane) }

// wants reports whether a lane may be handed over to the host.
func (p peer) wants(lane int) bool { return p.asks(lane) || slices.Contains(p.Ready, lane) }

// A roster is the other hosts of the fleet that live.
type roster struct {
	fleet, self string // the id of this run of this host
	peers       map[string]peer
	since       time.Time // when this one has begun to listen
}

// hear takes in what a host says. It reports whether that host was not known, and so may
// not know this one.
func (r *roster) hear(data []byte) (stranger bool) {
	p := peer{}
	if json.Unmarshal(data, &p) != nil || p.Fleet != r.fleet || p.ID == r.self {
		return false
	}
	before, known := r.peers[p.Host]
	if p.State == gone {
		if known && before.ID == p.ID {
			delete(r.peers, p.Host)
		}
		return false
	}
	p.heard = time.Now()
	r.peers[p.Host] = p
	return !known || before.ID != p.ID
}

// knows reports whether a host of a name lives.
func (r *roster) knows(host string) bool {
	_, ok := r.peers[host]
	return ok
}

// expire drops the hosts that have said nothing for too long.
func (r *roster) expire() {
	for host, p := range r.peers {
		if time.Since(p.heard) > presenceTTL {
			delete(r.peers, host)
		}
	}
}

// runs are the hosts that live and the run of each; nil while there may be some that
// have not been heard yet.
func (r *roster) runs() map[string]string {
	if time.Since(r.since) < presenceTTL {
		return nil
	}
	all := map[string]string{}
	for host, p := range r.peers {
		all[host] = p.ID
	}
	return all
}

// serving are the hosts that lanes may go to.
func (r *roster) serving() (list []peer) {
	for _, p := range r.peers {
		if p.State == "" {
			list = append(list, p)
		}
	}
	return list
}
