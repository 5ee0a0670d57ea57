package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Index knows what the runs of the fleet have asked in chats that are not
// of their own session, so that a message there is known for an answer without
// a question to NATS. Of what they ask in their own it knows the numbers.
type Index struct {
	known chan struct{} // closed when what was asked before is known
	told  sync.Once
	calm  atomic.Bool // that is known, and nothing is asked in other chats: as mostly

	mu    sync.RWMutex
	keys  map[string]session.Key // the sessions that wait, by the ids of what they wait for
	asked map[string]Waiting     // by their ids: what is heard in chats of other sessions
	at    map[string][]Waiting   // by the places where an answer may come from
	own   map[string]string      // of the others, where each was put, by their ids
	open  map[string]opened      // by these places
}

// opened are the questions of a session in its own conversation. It knows them itself, and
// may wait for long: here is only what numbers the next one has to be beyond.
type opened struct{ count, highest int }

// NewIndex is an index that knows nothing yet.
func NewIndex() *Index {
	return &Index{known: make(chan struct{}), keys: map[string]session.Key{}, asked: map[string]Waiting{}, at: map[string][]Waiting{}, own: map[string]string{}, open: map[string]opened{}}
}

// Follow keeps up with the bucket until ctx ends.
func (q *Index) Follow(ctx context.Context, js jetstream.JetStream, log zerolog.Logger) {
	timer := time.AfterFunc(knownSoon, q.whole)
	defer timer.Stop()
	records.Follow(ctx, js, bus.WaitingBucket, log, q.take, q.whole)
}

// knownSoon is how long messages wait for what was asked before they came.
const knownSoon = 3 * time.Second

func (q *Index) take(entry jetstream.KeyValueEntry) {
	w := Waiting{}
	if entry.Operation() == jetstream.KeyValuePut && json.Unmarshal(entry.Value(), &w) == nil && w.ID == entry.Key() {
		q.add(w)
	} else {
		q.forget(entry.Key())
	}
}

// whole says that all is known which was asked before.
func (q *Index) whole() {
	q.told.Do(func() { close(q.known) })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calm.Store(len(q.asked) == 0)
}

func (q *Index) add(w Waiting) {
	places := placesOf(w)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(w.ID)
	q.keys[w.ID] = session.Key(w.Session)
	if len(places) == 0 {
		return
	}
	if !isAway(w) {
		place := places[0]
		q.own[w.ID] = place
		at := q.open[place]
		q.open[place] = opened{at.count + 1, max(at.highest, w.Number, 1)}
		return
	}
	q.calm.Store(false)
	q.asked[w.ID] = w
	for _, place := range places {
		q.at[place] = append(q.at[place], w)
	}
}

func (q *Index) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(id)
	select {
	case <-q.known:
		q.calm.Store(len(q.asked) == 0)
	default:
	}
}

// remove is forget with the lock held.
func (q *Index) remove(id string) {
	delete(q.keys, id)
	if place, ok := q.own[id]; ok {
		delete(q.own, id)
		at := q.open[place]
		if at.count--; at.count == 0 {
			delete(q.open, place)
		} else {
			q.open[place] = at
		}
	}
	w, ok := q.asked[id]
	if !ok {
		return
	}
	delete(q.asked, id)
	for _, place := range placesOf(w) {
		left := slices.DeleteFunc(q.at[place], func(other Waiting) bool { return other.ID == id })
		if q.at[place] = left; len(left) == 0 {
			delete(q.at, place)
		}
	}
}

// Session is the session that waits under id, as far as is known.
func (q *Index) Session(id string) (key session.Key, ok bool) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	key, ok = q.keys[id]
	return key, ok
}

// Calm reports whether nothing is asked in a chat of another session, as mostly.
func (q *Index) Calm() bool { return q.calm.Load() }

// At lists what was asked at places and what keep keeps, the oldest first, once that is
// known or done is closed.
func (q *Index) At(done <-chan struct{}, keep func(Waiting) bool, places ...string) (list []Waiting) {
	if q.Calm() {
		return nil
	}
	select {
	case <-q.known:
	case <-done:
	}
	q.mu.RLock()
	for _, place := range places {
		for _, w := range q.at[place] {
			if keep(w) {
				list = append(list, w)
			}
		}
	}
	q.mu.RUnlock()
	slices.SortStableFunc(list, func(a, b Waiting) int { return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.Number, b.Number)) })
	return list
}

// Highest is the highest number of the questions that other sessions have put at the same
// places as w, 0 where none has.
func (q *Index) Highest(w Waiting) (n int) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	self := InSession(w.Agent, w.Session)
	for _, place := range placesOf(w) {
		if place != self {
			n = max(n, q.open[place].highest)
		}
		for _, other := range q.at[place] {
			if other.Agent != w.Agent || other.Session != w.Session {
				n = max(n, other.Number, 1)
			}
		}
	}
	return n
}

// placesOf are the places where a question was put, besides the session that asks.
func placesOf(w Waiting) []string { return append(askedAt(w), approversAt(w)...) }

// approversAt are the chats of the approvers who have heard of it.
func approversAt(w Waiting) (places []string) {
	if !w.Notified {
		return nil
	}
	for _, who := range w.Approvers {
		account, from, _ := strings.Cut(who, "/")
		places = append(places, With(bus.OutboundPrefix+account, from, ""))
	}
	return places
}

// isAway reports whether the answer to w may come from a chat of another session.
func isAway(w Waiting) bool {
	at := w.Origin
	return w.Notified || at != nil && (at.Agent != w.Agent || at.Session != w.Session)
}

// askedAt are the places where a question was put to the person whom it is for, none for
// one that is for no person. That of the session which asks is its conversation alone: it
// hears the answers itself.
func askedAt(w Waiting) []string {
	at := w.Origin
	switch {
	case at == nil || w.Kind == run.ForDelegate:
		return nil
	case at.Session != "":
		return []string{InSession(at.Agent, at.Session)}
	}
	var places []string
	if at.To != "" {
		places = append(places, With(at.Subject, at.To, at.Thread))
	}
	if at.Chat != "" {
		places = append(places, InChat(at.Subject, at.Chat, at.Thread))
	}
	return places
}

// InSession is the place of a conversation.
func InSession(agent, key string) string { return placeOf(agent, "session", key, "") }

// With is the place of a person; subject is where messages to them go.
func With(subject, person, thread string) string { return placeOf(subject, "to", person, thread) }

// InChat is the place of a group.
func InChat(subject, chat, thread string) string { return placeOf(subject, "chat", chat, thread) }

func placeOf(door, kind, name, thread string) string {
	return door + "\x00" + kind + "\x00" + name + "\x00" + thread
}
