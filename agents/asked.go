package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go/jetstream"
)

// questions knows what the runs of the fleet have asked in chats that are not
// of their own session, so that a message there is known for an answer without
// a question to NATS.
type questions struct {
	known chan struct{} // closed when what was asked before is known
	told  sync.Once
	calm  atomic.Bool // that is known, and nothing is asked: as mostly

	mu    sync.RWMutex
	asked map[string]Waiting   // by their ids
	at    map[string][]Waiting // by the places where an answer may come from
}

func newQuestions() *questions {
	return &questions{known: make(chan struct{}), asked: map[string]Waiting{}, at: map[string][]Waiting{}}
}

// follow keeps up with the bucket until ctx ends.
func (q *questions) follow(ctx context.Context, parts *Parts) {
	timer := time.AfterFunc(knownSoon, q.whole)
	defer timer.Stop()
	records.Follow(ctx, parts.JS, bus.WaitingBucket, parts.Log, q.take, q.whole)
}

// knownSoon is how long messages wait for what was asked before they came.
const knownSoon = 3 * time.Second

func (q *questions) take(entry jetstream.KeyValueEntry) {
	w := Waiting{}
	if entry.Operation() == jetstream.KeyValuePut && json.Unmarshal(entry.Value(), &w) == nil && w.ID == entry.Key() {
		q.add(w)
	} else {
		q.forget(entry.Key())
	}
}

// whole says that all is known which was asked before.
func (q *questions) whole() {
	q.told.Do(func() { close(q.known) })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calm.Store(len(q.asked) == 0)
}

func (q *questions) add(w Waiting) {
	places := placesOf(w)
	if len(places) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(w.ID)
	q.calm.Store(false)
	q.asked[w.ID] = w
	for _, place := range places {
		q.at[place] = append(q.at[place], w)
	}
}

func (q *questions) forget(id string) {
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
func (q *questions) remove(id string) {
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

// here lists what was asked where an input of c comes from, once that is known.
func (q *questions) here(c *conversation, it *item) (list []Waiting) {
	if q.calm.Load() {
		return nil
	}
	select {
	case <-q.known:
	case <-c.r.work.Done():
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	in := it.origin.inbound
	place := placeOf(it.origin.outbound(), "to", sender(in), in.Thread)
	if in.Group {
		place = placeOf(it.origin.outbound(), "chat", in.Chat, in.Thread)
	}
	for _, w := range slices.Concat(q.at[placeOf(c.r.id, "session", string(c.key), "")], q.at[place]) {
		if !c.owns(w) && c.isWhere(w.Origin, it) {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b Waiting) int { return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.Number, b.Number)) })
	return list
}

// numbered is the highest number of the questions that were put at the same places as
// w, 0 where none was.
func (q *questions) numbered(w Waiting) (n int) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, place := range placesOf(w) {
		for _, other := range q.at[place] {
			if other.ID != w.ID {
				n = max(n, other.Number, 1)
			}
		}
	}
	return n
}

// placesOf are the places where a question was put, none for one that its own
// session hears the answers to, or no person.
func placesOf(w Waiting) []string {
	at := w.Origin
	switch {
	case at == nil || w.Kind == run.ForDelegate:
		return nil
	case at.Session != "" && at.Agent == w.Agent && at.Session == w.Session:
		return nil
	case at.Session != "":
		return []string{placeOf(at.Agent, "session", at.Session, "")}
	}
	var places []string
	if at.To != "" {
		places = append(places, placeOf(at.Subject, "to", at.To, at.Thread))
	}
	if at.Chat != "" {
		places = append(places, placeOf(at.Subject, "chat", at.Chat, at.Thread))
	}
	return places
}

func placeOf(door, kind, name, thread string) string {
	return door + "\x00" + kind + "\x00" + name + "\x00" + thread
}
