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

// An Index knows what the runs of the fleet have asked, so that a message is known for an
// answer without a question to NATS: in chats that are not of their own session, and, as
// several agents may be in one chat, in their own.
type Index struct {
	known chan struct{} // closed when what was asked before is known
	told  sync.Once
	calm  atomic.Bool // that is known, and nothing is asked in other chats: as mostly

	mu     sync.RWMutex
	waits  map[string]wait         // all that is waited for, by its id
	open   map[forPerson]*int      // how much of it waits for a person
	asked  map[string]Waiting      // by their ids: what is heard in chats of other sessions
	at     map[string][]Waiting    // by the places where an answer may come from
	own    map[session.Key][]asked // of the others, what each session has asked in its conversation
	closed closedQuestions
	taken  map[string][]*takenNumbers // by places

	given    map[string]meant // the words that questions were given, by their ids
	givenDue []string         // these, in the order in which they are forgotten
}

// asked is a question of a session in its own conversation, as short as can be: many may
// wait for long.
type asked struct {
	id, agent, kind string
	options         []string
	number          int
	at              time.Time
	chat            string // the place that has the conversation
	atWork          bool   // by a tool that runs
}

func (a asked) waiting(key session.Key) Waiting {
	return Waiting{
		ID: a.id, Agent: a.agent, Session: string(key), Kind: a.kind, Options: a.options, Number: a.number, AskedAt: a.at,
		Origin: &bus.Origin{Agent: a.agent, Session: string(key)},
	}
}

// NewIndex is an index that knows nothing yet.
func NewIndex() *Index {
	return &Index{
		known: make(chan struct{}), waits: map[string]wait{}, open: map[forPerson]*int{},
		asked: map[string]Waiting{}, at: map[string][]Waiting{},
		own: map[session.Key][]asked{}, closed: newClosedQuestions(),
		taken: map[string][]*takenNumbers{}, given: map[string]meant{},
	}
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
		q.close(entry.Key())
		q.mu.Lock()
		q.closed.deleted(entry.Key(), entry.Created())
		q.mu.Unlock()
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
	q.closed.remove(w.ID)
	q.waits[w.ID] = wait{session.Key(w.Session), q.count(w)}
	if len(places) == 0 {
		return
	}
	q.asks(w)
	if !isAway(w) {
		key := session.Key(w.Session)
		q.own[key] = append(q.own[key], asked{w.ID, w.Agent, w.Kind, w.Options, w.Number, w.AskedAt, chatOf(w), w.atWork()})
		return
	}
	q.calm.Store(false)
	q.asked[w.ID] = w
	for _, place := range places {
		q.at[place] = append(q.at[place], w)
	}
}

// close forgets what has waited under id.
func (q *Index) close(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if key, w, ok := q.inConversation(id); ok {
		q.closed.add(key, w)
		q.giveBack(w)
	}
	q.remove(id)
	select {
	case <-q.known:
		q.calm.Store(len(q.asked) == 0)
	default:
	}
}

// inConversation is the question under id, if it was put in a conversation, which has key.
func (q *Index) inConversation(id string) (key session.Key, w Waiting, ok bool) {
	if w, ok = q.asked[id]; ok {
		if w.Origin == nil { // its approvers were asked
			return "", w, false
		}
		return session.Key(w.Origin.Session), w, w.Origin.Session != ""
	}
	key = q.waits[id].key
	if i := slices.IndexFunc(q.own[key], func(a asked) bool { return a.id == id }); i >= 0 {
		return key, q.own[key][i].waiting(key), true
	}
	return key, w, false
}

// remove is close with the lock held, and remembers nothing.
func (q *Index) remove(id string) {
	one := q.waits[id]
	delete(q.waits, id)
	if one.open != nil {
		*one.open--
	}
	key := one.key
	if left := slices.DeleteFunc(q.own[key], func(a asked) bool { return a.id == id }); len(left) == 0 {
		delete(q.own, key)
	} else {
		q.own[key] = left
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
	one, ok := q.waits[id]
	return one.key, ok
}

// Knows reports whether anything waits under id, once that is known or done is closed.
func (q *Index) Knows(done <-chan struct{}, id string) bool {
	select {
	case <-q.known:
	case <-done:
	}
	_, ok := q.Session(id)
	return ok
}

// AtWork are the ids of what the tools of a session have asked while they run, once that is
// known; none when done is closed before.
func (q *Index) AtWork(done <-chan struct{}, key session.Key) (ids []string) {
	select {
	case <-q.known:
	case <-done:
		return nil
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, a := range q.own[key] {
		if a.atWork {
			ids = append(ids, a.id)
		}
	}
	for id, w := range q.asked {
		if w.atWork() && w.Session == string(key) {
			ids = append(ids, id)
		}
	}
	return ids
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
	slices.SortStableFunc(list, oldestFirst)
	return list
}

func oldestFirst(a, b Waiting) int {
	return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
}

// OfOthers lists what other agents than agent, or runs that work for them, had asked in their
// conversations with key when a message came that was stored at a time: several agents may be
// in one chat. What was answered since is listed as well, as perhaps by that message.
func (q *Index) OfOthers(agent string, key session.Key, stored time.Time) (list []Waiting) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, a := range q.own[key] {
		if a.agent != agent {
			list = append(list, a.waiting(key))
		}
	}
	for _, w := range slices.Concat(q.at[InSession(key)], q.closed.openAt(key, stored)) {
		if w.Origin.Agent != agent {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, oldestFirst)
	return list
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
		return []string{InSession(session.Key(at.Session))}
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

// chatOf is the place that has the conversation in which w was asked, empty where none led to
// it. What the clock begins asks there without knowing of the conversation.
func chatOf(w Waiting) string {
	at := w.Origin
	switch {
	case at == nil || at.Session == "":
		return ""
	case session.Key(at.Session).IsGroup():
		return InChat(at.Subject, at.Chat, at.Thread)
	}
	return With(at.Subject, at.To, at.Thread)
}

// InSession is the place of a conversation, of whichever of the agents that are in it.
func InSession(key session.Key) string { return placeOf("", "session", string(key), "") }

// With is the place of a person; subject is where messages to them go.
func With(subject, person, thread string) string { return placeOf(subject, "to", person, thread) }

// InChat is the place of a group.
func InChat(subject, chat, thread string) string { return placeOf(subject, "chat", chat, thread) }

func placeOf(door, kind, name, thread string) string {
	return door + "\x00" + kind + "\x00" + name + "\x00" + thread
}
