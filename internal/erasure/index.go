package erasure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/session"
)

// An Order tells hosts to forget what they have of a person in memory.
type Order struct {
	Person Person        `json:"person"`
	Agent  string        `json:"agent,omitempty"` // empty: all
	Keys   []session.Key `json:"keys,omitempty"`  // of sessions that are the person's, and do not say so
	// UpTo is by stream the last message that it is about: what comes later counts as new.
	UpTo map[string]uint64 `json:"up_to"`
}

// Subject is where hosts hear an Order, and each answers with an Answer.
const Subject = "agenthost.sessions.erase"

// An Answer is what a host says to an Order.
type Answer struct {
	Host string `json:"host"`
	// Erased says that nothing of the person is in its memory, or on its way from there to a
	// stream. Else that took too long, and it can be asked again.
	Erased bool `json:"erased"`
}

// same reports whether two orders differ at the most in how far they go.
func (o Order) same(p Order) bool {
	return o.Person == p.Person && o.Agent == p.Agent && slices.Equal(o.Keys, p.Keys)
}

// A Message is one that is on its way through a host.
type Message struct {
	Agent   string
	Session session.Key // empty: not known yet
	Subject string
	Stream  string
	Seq     uint64
	From    string // empty: it does not say
}

// holds reports whether the order is about a message.
func (o Order) holds(m Message) bool {
	if o.Agent != "" && o.Agent != m.Agent || m.Seq > o.UpTo[m.Stream] {
		return false
	}
	if m.Session != "" && (o.Person.Owns(m.Session) || slices.Contains(o.Keys, m.Session)) {
		return true
	}
	place := PlaceOf(m.Subject)
	return place != "" && o.Person.Wrote(place, m.From)
}

// within is how long what was delivered before an order may still be on its way into memory.
const within = 15 * time.Minute

// An Index is the orders that a host has. It is safe for concurrent use; the zero Index has none.
type Index struct {
	mu     sync.Mutex
	orders atomic.Pointer[[]held]
}

// A held order counts until it ends.
type held struct {
	Order
	end time.Time
}

// Add takes an order in, in place of one for the same that goes less far.
func (x *Index) Add(o Order) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []held
	if before := x.orders.Load(); before != nil {
		list = slices.DeleteFunc(slices.Clone(*before), func(h held) bool { return time.Now().After(h.end) || h.same(o) })
	}
	list = append(list, held{o, time.Now().Add(within)})
	x.orders.Store(&list)
}

// Any reports whether there may be orders: mostly there are none, and nothing has to be looked up.
func (x *Index) Any() bool { return x.orders.Load() != nil }

// Holds reports whether a message is one that the host has to forget.
func (x *Index) Holds(m Message) bool {
	list := x.orders.Load()
	return list != nil && slices.ContainsFunc(*list, func(h held) bool { return h.holds(m) && time.Now().Before(h.end) })
}
