package budget

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"agenthost/bus/records"
)

// An account is one day of a ledger. Its record is shared with other hosts, so
// it is changed by compare and set; within the host one goroutine does that,
// for all calls at once, and only while there is something to do.
type account struct {
	ledger *Ledger
	key    string
	peer   Peer // whose it is; empty: the agent's

	// With the ledger's lock.
	owed   Reservations // settled, by model, and not in the record yet
	held   Reservations // by calls under way
	asking []*claim     // in the order they came
	busy   bool         // the goroutine is there
	wake   chan struct{}
	timer  *time.Timer // for the reservations of other hosts; nil: there are none

	// Of the goroutine.
	record   Spend
	revision uint64
	stale    bool         // record may not be the last one
	seen     time.Time    // when record was the last one
	written  Reservations // what the record has of held
	booked   Reservations // of this host, by another that took it for dead
	writes   int
	doubt    doubt
}

// A doubt is a write of which is not known whether it came through.
type doubt struct {
	name string
	owed Reservations
}

// reserve asks for leave to spend c.amount. While the calls under way may
// leave enough and may not, it waits for them.
func (a *account) reserve(ctx context.Context, c *claim) (bool, error) {
	l := a.ledger
	c.decided = make(chan bool, 1)
	l.mu.Lock()
	a = a.current()
	c.account = a
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

// current is the account of its record: one that was dropped is taken up again,
// unless there is another by now. Called with the lock held.
func (a *account) current() *account {
	now, ok := a.ledger.days[a.key]
	if ok {
		return now
	}
	a.ledger.days[a.key], a.stale = a, true // its goroutine has ended
	return a
}

// settle books what a call of the run by a model has cost, in the place of what
// it had reserved.
func (a *account) settle(run, model string, reserved, cost int64) {
	if reserved == 0 && cost == 0 {
		return
	}
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if reserved > 0 {
		a.held.sub(run, reserved)
		l.count(-1)
	}
	if cost > 0 {
		a.owed.add(model, cost)
	}
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

// again is how long an account waits before it looks what other hosts have
// done, or tries what has failed.
const again = 200 * time.Millisecond

// work makes writes until there is nothing to write and no claim waits.
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
			a.ledger.Log.Warn().Err(err).Str("record", a.key).Msg("what was spent cannot be written and is not counted")
			a.abandon()
			return
		default: // mostly another host was quicker
			a.ledger.Log.Debug().Err(err).Str("record", a.key).Msg("write what was spent; trying again")
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
	if len(a.owed) == 0 && maps.Equal(a.held, a.written) && len(a.asking) == 0 && !a.unsettled(time.Now()) {
		a.busy = false
		a.rest()
		return booking{}, false
	}
	return booking{maps.Clone(a.owed), maps.Clone(a.held), slices.Clone(a.asking)}, true
}

// unsettled reports whether the record says something of hosts that is not so.
func (a *account) unsettled(now time.Time) bool {
	return len(a.booked) > 0 || a.record.unsettled(a.ledger.Host, a.ledger.id, now)
}

// rest looks again when a reservation of another host expires. The account of a
// day that is over, or of a person, with nothing to wait for, is dropped. Called with the lock
// held.
func (a *account) rest() {
	l := a.ledger
	a.unwatch()
	switch expires := a.record.expires(l.Host); {
	case l.closed:
	case !expires.IsZero():
		a.timer = time.AfterFunc(max(time.Until(expires), again), a.look)
	case len(a.held) == 0 && a.key != spendKey(l.Agent, time.Now()):
		delete(l.days, a.key)
	}
}

// unwatch ends the wait for other hosts. Called with the lock held.
func (a *account) unwatch() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// look has the goroutine read the record again.
func (a *account) look() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if !a.busy {
		a.stale = true
	}
	a.start()
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

// book makes one write of b. It reports whether no claim of b has to wait.
func (a *account) book(b booking) (settled bool, err error) {
	now := time.Now()
	changed := len(b.owed) > 0 || a.unsettled(now)
	next := a.record.settled(a.ledger.Host, a.ledger.id, a.booked, now)
	next.charge(b.owed)
	verdicts, held := judge(b, next)
	if slices.Contains(verdicts, refused) && time.Since(a.seen) > again && a.reload() {
		return a.book(b)
	}
	if changed || !maps.Equal(held, a.written) {
		if err := a.write(next, b.owed, held, now); err != nil {
			return false, err
		}
		if len(b.owed) > 0 {
			a.ledger.alert(a, next.Spent)
		}
	}
	return a.decide(b, verdicts), nil
}

// write changes the record to next with the share of this host, unless another
// host has changed it meanwhile.
func (a *account) write(next Spend, owed, held Reservations, now time.Time) error {
	ctx, cancel := context.WithTimeout(a.ledger.ctx, lastWrites)
	defer cancel()
	bucket, err := a.ledger.records(ctx)
	if err != nil {
		return err
	}
	a.writes++
	name := a.ledger.id + "." + strconv.Itoa(a.writes)
	next.Hosts[a.ledger.Host] = Share{
		Reserved: held.total(), Runs: held, Until: now.Add(time.Duration(a.ledger.ttl.Load())).UTC(), Write: name,
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	revision, err := records.Replace(ctx, bucket, a.key, data, a.revision)
	if err != nil {
		a.doubt = doubt{name, owed}
		return err
	}
	a.record, a.revision, a.written, a.booked, a.seen = next, revision, held, nil, time.Now()
	return nil
}

// decide gives each claim its verdict.
func (a *account) decide(b booking, verdicts []verdict) (settled bool) {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	a.owed.subAll(b.owed)
	for i, v := range verdicts {
		c := b.claims[i]
		if v == waiting {
			return false
		}
		if !c.gone {
			if v == admitted && c.amount > 0 {
				a.held.add(c.run, c.amount)
				l.count(1)
			}
			c.decided <- v == admitted
		}
		a.asking = a.asking[1:] // nothing else takes from it
	}
	return true
}
