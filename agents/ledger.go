package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const dayFormat = time.DateOnly

const monthFormat = "2006-01"

func spendKey(agent string, at time.Time) string { return agent + "." + at.UTC().Format(dayFormat) }

// peerKey is the record of what one person has had an agent spend in a day.
func peerKey(agent string, p peer, at time.Time) string {
	return spendKey(agent, at) + "." + session.SID(agent, session.Key(p))
}

// A ledger keeps the accounts of an agent, one for each UTC day. What a call
// was admitted to on one day counts there, also when it ends on the next.
type ledger struct {
	agent string
	parts *Parts
	ttl   atomic.Int64 // of a reservation that is not refreshed, as a Duration
	id    string       // of this life of the host, for its writes

	booked func(key string, spent int64) // called after a write that has spent something; may be nil

	working sync.WaitGroup
	ctx     context.Context //nolint:containedctx // ends when a closed ledger has had its time
	cancel  context.CancelFunc

	mu       sync.Mutex
	bucket   jetstream.KeyValue // nil until it is needed
	days     map[string]*account
	underway int           // reservations of calls that have not ended
	drained  chan struct{} // of a ledger that closes: closed when none is under way
	before   before        // what was spent in the month
	closed   bool
}

// lastWrites bounds what a ledger that is closed may take for the calls that are
// about to end, and for what it still has to write.
const lastWrites = 5 * time.Second

func newLedger(agent string, parts *Parts, ttl time.Duration) *ledger {
	l := &ledger{agent: agent, parts: parts, id: nuid.Next(), days: map[string]*account{}}
	l.ttl.Store(int64(ttl))
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// today is the account of the day that at is in.
func (l *ledger) today(at time.Time) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(spendKey(l.agent, at))
}

// ofPeer is the account of what one person has spent in the day that at is in.
func (l *ledger) ofPeer(p peer, at time.Time) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(peerKey(l.agent, p, at))
}

// account is that of a record. Called with the lock held.
func (l *ledger) account(key string) *account {
	a, ok := l.days[key]
	if !ok {
		a = &account{ledger: l, key: key, stale: true, wake: make(chan struct{}, 1)}
		l.days[key] = a
	}
	return a
}

// open books what is reserved by hosts that are dead: an earlier life of this
// one, mostly. It may have died the day before.
func (l *ledger) open(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range []time.Time{now.AddDate(0, 0, -1), now} {
		l.account(spendKey(l.agent, at)).start()
	}
}

// lost is what was reserved for earlier tries of a run that died with their
// hosts, all of them together.
func (l *ledger) lost(ctx context.Context, run string, now time.Time) (sum int64, err error) {
	for _, at := range []time.Time{now.AddDate(0, 0, -1), now} {
		record, _, err := l.read(ctx, spendKey(l.agent, at))
		if err != nil {
			return 0, fmt.Errorf("read what earlier tries of the run have reserved: %w", err)
		}
		sum = llm.Sum(sum, record.lost(run, l.id))
	}
	return sum, nil
}

// read returns a record, an empty one when there is none yet.
func (l *ledger) read(ctx context.Context, key string) (s Spend, revision uint64, err error) {
	entry, err := l.parts.Reader.Entry(ctx, bus.SpendBucket, key)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return s, 0, nil
	case err != nil:
		return s, 0, err
	}
	err = json.Unmarshal(entry.Data, &s)
	return s, entry.Seq, err
}

func (l *ledger) records(ctx context.Context) (jetstream.KeyValue, error) {
	l.mu.Lock()
	bucket := l.bucket
	l.mu.Unlock()
	if bucket != nil {
		return bucket, nil
	}
	bucket, err := l.parts.JS.KeyValue(ctx, bus.SpendBucket)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket = bucket
	return bucket, nil
}

// close waits until the calls under way have ended and all is written. What is
// settled later stays reserved, and is booked as spent by the next who looks.
func (l *ledger) close() {
	timer := time.AfterFunc(lastWrites, l.cancel)
	select {
	case <-l.drain():
	case <-l.ctx.Done():
	}
	l.mu.Lock()
	l.closed = true
	for _, a := range l.days {
		a.unwatch()
	}
	l.mu.Unlock()
	l.working.Wait()
	timer.Stop()
	l.cancel()
}

// drain returns a channel that is closed when no reservation is under way.
func (l *ledger) drain() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drained = make(chan struct{})
	if l.underway == 0 {
		close(l.drained)
	}
	return l.drained
}

// count counts reservations under way. Called with the lock held.
func (l *ledger) count(n int) {
	l.underway += n
	if l.underway == 0 && l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
}

// A Total is what was spent in a UTC day, in micro-cents.
type Total struct {
	Agents map[string]int64
	Models map[string]int64 // by their names in the configuration
}

// SpentToday reads what was spent in this UTC day, by all hosts.
func SpentToday(ctx context.Context, js jetstream.JetStream, now time.Time) (Total, error) {
	kv, err := js.KeyValue(ctx, bus.SpendBucket)
	if err != nil {
		return Total{}, fmt.Errorf("read what is spent: %w", err)
	}
	watch, err := kv.Watch(ctx, spendKey("*", now), jetstream.IgnoreDeletes())
	if err != nil {
		return Total{}, fmt.Errorf("read what is spent: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	sum := Total{map[string]int64{}, map[string]int64{}}
	for {
		select {
		case entry := <-watch.Updates():
			if entry == nil {
				return sum, nil
			}
			s := Spend{}
			if err := json.Unmarshal(entry.Value(), &s); err == nil {
				agent, _, _ := strings.Cut(entry.Key(), ".")
				sum.add(agent, s)
			}
		case <-ctx.Done():
			return Total{}, fmt.Errorf("read what is spent: %w", ctx.Err())
		}
	}
}

func (t Total) add(agent string, s Spend) {
	t.Agents[agent] = llm.Sum(t.Agents[agent], s.Spent)
	for model, amount := range s.Models {
		t.Models[model] = llm.Sum(t.Models[model], amount)
	}
}
