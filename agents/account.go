package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
)

// An account is one day of a ledger. Its record is shared with other hosts, so
// it is changed by compare and set; within the host one goroutine does that,
// for all calls at once, and only while there is something to do.
type account struct {
	ledger *ledger
	key    string

	// With the ledger's lock.
	owed   int64    // settled, and not in the record yet
	held   int64    // reserved by calls under way
	asking []*claim // in the order they came
	busy   bool     // the goroutine is there
	wake   chan struct{}

	// Of the goroutine.
	bucket   jetstream.KeyValue // nil until it is needed
	record   Spend
	revision uint64
	stale    bool  // record may not be the last one
	written  int64 // what the record says of held
	writes   int
	doubt    doubt
}

// A doubt is a write of which is not known whether it came through.
type doubt struct {
	name string
	owed int64
}

// A claim asks for leave to make a call.
type claim struct {
	input  int64 // what it costs at least
	amount int64 // what it costs at most, as far as can be told
	limit  int64
	soft   bool // does not wait for others

	gone    bool // nobody wants it any more
	spent   int64
	decided chan bool // with one place
}

// A verdict is what becomes of a claim.
type verdict int

const (
	refused verdict = iota
	admitted
	waiting
)

// reserve asks for leave to spend c.amount. While the calls under way may
// leave enough and may not, it waits for them.
func (a *account) reserve(ctx context.Context, c *claim) (bool, error) {
	l := a.ledger
	c.decided = make(chan bool, 1)
	l.mu.Lock()
	a.asking = append(a.asking, c)
	a.start()
	l.mu.Unlock()
	select {
	case ok := <-c.decided:
		return ok, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case ok := <-c.decided:
		return ok, nil
	default:
		c.gone = true
		a.start()
		return false, context.Cause(ctx)
	}
}

// settle books what a call has cost, in the place of what it had reserved.
func (a *account) settle(reserved, cost int64) {
	if reserved == 0 && cost == 0 {
		return
	}
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.held -= reserved
	a.owed = llm.Sum(a.owed, cost)
	a.start()
}

// start has the goroutine look. Called with the lock held.
func (a *account) start() {
	if a.busy {
		select {
		case a.wake <- struct{}{}:
		default:
		}
		return
	}
	if !a.ledger.closed {
		a.busy = true
		a.ledger.working.Go(a.work)
	}
}

// A booking is what one write changes.
type booking struct {
	owed, held int64
	claims     []*claim
}

// again is how long an account waits before it looks what other hosts have
// done, or tries what has failed.
const again = 200 * time.Millisecond

// work makes writes until there is nothing to write and nobody waits.
func (a *account) work() {
	for failed := 0; ; {
		err := a.load()
		settled := false
		if err == nil {
			b, ok := a.next()
			if !ok {
				return
			}
			settled, err = a.book(b)
		}
		switch {
		case err == nil:
			failed = 0
		case a.ledger.ctx.Err() != nil:
			a.ledger.parts.Log.Warn().Err(err).Str("record", a.key).Msg("what was spent cannot be written and is not counted")
			a.abandon()
			return
		default: // mostly another host was quicker
			a.ledger.parts.Log.Debug().Err(err).Str("record", a.key).Msg("write what was spent; trying again")
			a.stale = true
			failed++
		}
		if err == nil && !settled || failed > 3 {
			a.pause()
		}
	}
}

// next is what is to be done; with nothing, the goroutine ends.
func (a *account) next() (booking, bool) {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	a.asking = slices.DeleteFunc(a.asking, func(c *claim) bool { return c.gone })
	if a.owed == 0 && a.held == a.written && len(a.asking) == 0 {
		a.busy = false
		if a.held == 0 && a.key != spendKey(l.agent, time.Now()) {
			delete(l.days, a.key)
		}
		return booking{}, false
	}
	return booking{a.owed, a.held, slices.Clone(a.asking)}, true
}

func (a *account) abandon() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.busy = false
}

// pause waits for something new here, or a while for something new elsewhere.
func (a *account) pause() {
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-a.wake:
	case <-timer.C:
		a.stale = true
	case <-a.ledger.ctx.Done():
	}
}

// load reads the record if another host may have changed it. A write that
// seemed to fail and did not is found out by its name.
func (a *account) load() error {
	if !a.stale {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ledger.ctx, lastWrites)
	defer cancel()
	record, revision, err := a.read(ctx)
	if err != nil {
		return err
	}
	a.record, a.revision, a.stale = record, revision, false
	mine := record.Hosts[a.ledger.parts.Host]
	a.written = mine.Reserved
	if a.doubt.name != "" && a.doubt.name == mine.Write {
		a.ledger.mu.Lock()
		a.owed -= a.doubt.owed
		a.ledger.mu.Unlock()
	}
	a.doubt = doubt{}
	return nil
}

// read returns the record, an empty one when there is none yet.
func (a *account) read(ctx context.Context) (s Spend, revision uint64, err error) {
	if a.bucket == nil {
		if a.bucket, err = a.ledger.parts.JS.KeyValue(ctx, bus.SpendBucket); err != nil {
			return s, 0, err
		}
	}
	entry, err := a.ledger.parts.Reader.Entry(ctx, bus.SpendBucket, a.key)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return s, 0, nil
	case err != nil:
		return s, 0, err
	}
	err = json.Unmarshal(entry.Data, &s)
	return s, entry.Seq, err
}

// book makes one write of b. It reports whether no claim of b has to wait.
func (a *account) book(b booking) (settled bool, err error) {
	now := time.Now()
	verdicts, held := a.judge(b, now)
	if b.owed > 0 || held != a.written {
		if err := a.write(b.owed, held, now); err != nil {
			return false, err
		}
	}
	return a.tell(b, verdicts), nil
}

// judge decides as many of the claims as can be decided, in their order, and
// returns what is reserved with those that it admits. A call whose input alone
// is too much is never made; one that might become too much is, when no other
// is under way.
func (a *account) judge(b booking, now time.Time) ([]verdict, int64) {
	held, others := b.held, int64(0)
	for name, share := range a.record.Hosts {
		if name != a.ledger.parts.Host && share.Until.After(now) {
			others = llm.Sum(others, share.Reserved)
		}
	}
	spent := llm.Sum(a.record.Spent, b.owed)
	verdicts := make([]verdict, 0, len(b.claims))
	for _, c := range b.claims {
		reserved := llm.Sum(held, others)
		c.spent = spent
		switch {
		case spent >= c.limit || llm.Sum(spent, c.input) > c.limit:
			verdicts = append(verdicts, refused)
		case reserved == 0 || c.soft || llm.Sum(llm.Sum(spent, reserved), c.amount) <= c.limit:
			verdicts = append(verdicts, admitted)
			held = llm.Sum(held, c.amount)
		default: // and who comes later does not get in between
			return append(verdicts, waiting), held
		}
	}
	return verdicts, held
}

// write changes the record, unless another host has meanwhile.
func (a *account) write(owed, held int64, now time.Time) error {
	ctx, cancel := context.WithTimeout(a.ledger.ctx, lastWrites)
	defer cancel()
	a.writes++
	name := a.ledger.id + "." + strconv.Itoa(a.writes)
	next := Spend{Spent: llm.Sum(a.record.Spent, owed), Hosts: map[string]Share{}}
	for host, share := range a.record.Hosts {
		if share.Until.After(now) {
			next.Hosts[host] = share
		}
	}
	next.Hosts[a.ledger.parts.Host] = Share{Reserved: held, Until: now.Add(time.Duration(a.ledger.life.Load())).UTC(), Write: name}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	revision, err := a.bucket.Update(ctx, a.key, data, a.revision)
	if err != nil {
		a.doubt = doubt{name, owed}
		return err
	}
	a.record, a.revision, a.written = next, revision, held
	return nil
}

// tell lets who asked know.
func (a *account) tell(b booking, verdicts []verdict) (settled bool) {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	a.owed -= b.owed
	for i, v := range verdicts {
		c := b.claims[i]
		if v == waiting {
			return false
		}
		if !c.gone {
			if v == admitted {
				a.held += c.amount
			}
			c.decided <- v == admitted
		}
		a.asking = a.asking[1:] // nobody else takes from it
	}
	return true
}
