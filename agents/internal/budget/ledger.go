package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// How a UTC day and its month are written in keys.
const (
	dayFormat   = time.DateOnly
	monthFormat = "2006-01"
)

func spendKey(agent string, at time.Time) string { return agent + "." + at.UTC().Format(dayFormat) }

// Options say whose ledger it is, and where its records are.
type Options struct {
	Agent     string
	Host      string // the name of this host in the fleet
	JS        jetstream.JetStream
	Reader    *records.Reader
	Publisher *publishing.Publisher
	Log       *zerolog.Logger
	TTL       time.Duration // how long a reservation that is not refreshed stays valid
	// Alerts says which shares of the budgets are worth an alert by now; nil: none.
	Alerts func() Alerts
}

// A Ledger keeps the accounts of an agent, one for each UTC day. What a call
// was admitted to on one day counts there, also when it ends on the next. Close ends
// its goroutines.
type Ledger struct {
	Options

	ttl atomic.Int64 // Options.TTL, which may change
	id  string       // of this life of the host, for its writes

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

	reported periods // of which operators know that a budget is exceeded, or nearly
}

// lastWrites bounds what a ledger that is closed may take for the calls that are
// about to end, and for what it still has to write.
const lastWrites = 5 * time.Second

// NewLedger makes the ledger of an agent. It does nothing before it is used.
func NewLedger(o Options) *Ledger {
	l := &Ledger{Options: o, id: nuid.Next(), days: map[string]*account{}}
	l.Retain(o.TTL)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Retain changes how long a reservation that is not refreshed stays valid.
func (l *Ledger) Retain(ttl time.Duration) { l.ttl.Store(int64(ttl)) }

// today is the account of the day that at is in.
func (l *Ledger) today(at time.Time) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(spendKey(l.Agent, at))
}

// account is that of a record. Called with the lock held.
func (l *Ledger) account(key string) *account {
	a, ok := l.days[key]
	if !ok {
		a = &account{ledger: l, key: key, stale: true, wake: make(chan struct{}, 1)}
		l.days[key] = a
	}
	return a
}

// Open books what is reserved by hosts that are dead: an earlier life of this
// one, mostly. It may have died the day before.
func (l *Ledger) Open(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range []time.Time{now.AddDate(0, 0, -1), now} {
		l.account(spendKey(l.Agent, at)).start()
	}
}

// Lost is what was reserved for earlier tries of a run that died with their
// hosts, all of them together.
func (l *Ledger) Lost(ctx context.Context, run string, now time.Time) (sum int64, err error) {
	for _, at := range []time.Time{now.AddDate(0, 0, -1), now} {
		record, err := l.day(ctx, at)
		if err != nil {
			return 0, fmt.Errorf("read what earlier tries of the run have reserved: %w", err)
		}
		sum = llm.Sum(sum, record.lost(run, l.id))
	}
	return sum, nil
}

// day is the record of a day, empty before the first call, and where it cannot be read.
func (l *Ledger) day(ctx context.Context, at time.Time) (Spend, error) {
	s, _, err := l.read(ctx, spendKey(l.Agent, at))
	switch {
	case errors.Is(err, errUnreadable):
		l.Log.Warn().Err(err).Str("agent", l.Agent).Msg("read what was spent: failed; the day counts as nothing")
		err = nil
	case errors.Is(err, records.ErrNotFound):
		err = nil
	}
	return s, err
}

// read returns a record and its revision.
func (l *Ledger) read(ctx context.Context, key string) (s Spend, revision uint64, err error) {
	entry, err := l.Reader.Entry(ctx, bus.SpendBucket, key)
	if err != nil {
		return s, 0, err
	}
	if err := json.Unmarshal(entry.Data, &s); err != nil {
		return Spend{}, entry.Seq, fmt.Errorf("record %s: %w: %w", key, errUnreadable, err)
	}
	return s, entry.Seq, nil
}

// errUnreadable is wrapped by the error of a record that something else than a host has written.
var errUnreadable = errors.New("no host has written it")

func (l *Ledger) records(ctx context.Context) (jetstream.KeyValue, error) {
	l.mu.Lock()
	bucket := l.bucket
	l.mu.Unlock()
	if bucket != nil {
		return bucket, nil
	}
	bucket, err := l.JS.KeyValue(ctx, bus.SpendBucket)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket = bucket
	return bucket, nil
}

// Close waits until the calls under way have ended and all is written. What is
// settled later stays reserved, and is booked as spent by the next who looks.
func (l *Ledger) Close() {
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
func (l *Ledger) drain() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drained = make(chan struct{})
	if l.underway == 0 {
		close(l.drained)
	}
	return l.drained
}

// count counts reservations under way. Called with the lock held.
func (l *Ledger) count(n int) {
	l.underway += n
	if l.underway == 0 && l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
}
