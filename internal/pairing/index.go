package pairing

import (
	"context"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// An Index is the pairings as a host knows them. It is safe for concurrent use.
type Index struct {
	store *Store
	log   zerolog.Logger

	mu    sync.Mutex
	said  map[string]Standing           // by id
	asked map[string]map[string]Pairing // by agent and id
	full  map[string]time.Time          // by agent: until when it tells no stranger more
	whole chan struct{}
	once  sync.Once
}

// NewIndex makes an Index, which knows nothing until it runs.
func NewIndex(store *Store, log zerolog.Logger) *Index {
	return &Index{
		store: store, log: log, whole: make(chan struct{}),
		said: map[string]Standing{}, asked: map[string]map[string]Pairing{}, full: map[string]time.Time{},
	}
}

// fresh is how long ago somebody may have been approved whom a host is told of.
const fresh = time.Minute

// Run follows the bucket until ctx ends. approved is called for who was approved
// just now.
func (x *Index) Run(ctx context.Context, approved func(Pairing)) error {
	take := func(e jetstream.KeyValueEntry) { x.take(e, approved) }
	records.Mirror(ctx, x.store.js, bus.PairingsBucket, x.log, take, func() { x.once.Do(func() { close(x.whole) }) })
	return nil
}

func (x *Index) take(e jetstream.KeyValueEntry, approved func(Pairing)) {
	if e.Operation() != jetstream.KeyValuePut {
		x.drop(e.Key(), e.Created())
		return
	}
	p, ok := read(e)
	if !ok {
		x.log.Warn().Str("key", e.Key()).Str("bucket", bus.PairingsBucket).
			Msg("read pairing: the entry was not written by a host and lets in no sender; delete it with the nats command, and approve the person again")
		if strings.HasPrefix(e.Key(), pairedPrefix) {
			x.drop(e.Key(), e.Created()) // whom it let in before, as a host that starts now finds
		}
		return
	}
	x.put(p, e.Created())
	if p.Approved && time.Since(p.ApprovedAt) < fresh {
		approved(p)
	}
}

func (x *Index) put(p Pairing, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.Approved {
		x.said[p.id()] = Standing{Paired: true, Since: at}
	} else {
		x.note(p)
	}
}

// note is called with the lock held.
func (x *Index) note(p Pairing) {
	if x.asked[p.Agent] == nil {
		x.asked[p.Agent] = map[string]Pairing{}
	}
	x.asked[p.Agent][p.id()] = p
}

func (x *Index) drop(key string, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id, ok := strings.CutPrefix(key, pairedPrefix); ok {
		x.said[id] = Standing{Since: at}
		return
	}
	id := strings.TrimPrefix(key, askedPrefix)
	agent, _, _ := strings.Cut(id, ".")
	delete(x.asked[agent], id)
	delete(x.full, agent)
}

// Whole is closed once the index has all that was there.
func (x *Index) Whole() <-chan struct{} { return x.whole }

// A Standing is what the operator has said of a person: they are approved, or not any more.
// Since is when that was stored, by the clock of the server; zero: nothing was said.
type Standing struct {
	Paired bool
	Since  time.Time
}

// Standing is that of the person of p.
func (x *Index) Standing(p Pairing) Standing {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.said[p.id()]
}

// Paired reports whether the person of p is approved.
func (x *Index) Paired(p Pairing) bool { return x.Standing(p).Paired }

// Notice is what a stranger is to be told; ok is false when they were told within the
// time of a code, or are just being told. With code it asks for an approval, as long
// as not too many are open. Ask notes it.
func (x *Index) Notice(p Pairing, code bool) (notice Pairing, ok bool) {
	now := time.Now().UTC()
	x.mu.Lock()
	defer x.mu.Unlock()
	if now.Before(x.full[p.Agent]) { // a flood of strangers costs no more than this
		return p, false
	}
	if told := x.asked[p.Agent][p.id()]; now.Before(told.Expires) {
		return p, false
	}
	open, told := x.count(p.Agent, now)
	if told >= MostTold {
		return p, false
	}
	p.AskedAt, p.Expires = now, now.Add(Valid)
	if code && open < MostOpen {
		p.Code = NewCode()
	}
	x.note(p)
	return p, true
}

// Ask notes a notice, and reports whether no other host has given the stranger one. With an
// error it is as if there had been none.
func (x *Index) Ask(ctx context.Context, notice Pairing) (first bool, err error) {
	if first, err = x.store.Ask(ctx, notice); err != nil {
		x.drop(askedPrefix+notice.id(), time.Time{})
	}
	return first, err
}

// count is how many codes of an agent are open, and how many strangers it has told
// something in the time of a code. What is over is dropped. Where there are enough it is
// full until the first of them is over. Called with the lock held.
func (x *Index) count(agent string, now time.Time) (open, told int) {
	first := now.Add(Valid)
	for id, p := range x.asked[agent] {
		if !now.Before(p.Expires) {
			delete(x.asked[agent], id)
			continue
		}
		if p.Expires.Before(first) {
			first = p.Expires
		}
		if told++; p.Open(now) {
			open++
		}
	}
	if told >= MostTold {
		x.full[agent] = first
	}
	return open, told
}
