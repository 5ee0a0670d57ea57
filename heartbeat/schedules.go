package heartbeat

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Keeper keeps the schedules of the configuration in step with what NATS
// holds, and has the server hold the next firing of each of them and of each
// reminder. All hosts of a fleet run one.
type Keeper struct {
	JS        jetstream.JetStream
	Publisher *publishing.Publisher
	Reader    *records.Reader
	Schedules map[string][]Schedule // of the configuration, by agent
	Log       zerolog.Logger

	clock clock
}

const (
	// settle is how long after a firing was due the Keeper looks whether it has
	// fired: the server does it within 250 ms.
	settle = 300 * time.Millisecond
	// lookAgain is how soon it looks again when it has not.
	lookAgain = 250 * time.Millisecond
	// tryAgain is the pause after NATS has failed.
	tryAgain = time.Second
	// attending is how many entries are looked after at once.
	attending = 16
	// keepWithin bounds one step of that.
	keepWithin = 10 * time.Second
)

// overdue is how late a firing has to be that the server holds and has not fired: then the
// Keeper fires it. The timers of a server wait longer by what its machine has slept.
const overdue = 5 * time.Second

// late is how late a firing may be that is not to be made up for.
const late = time.Minute

// Run keeps until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.clock.js = k.JS
	if !k.adoptAll(ctx) {
		return nil
	}
	var all sync.WaitGroup
	defer all.Wait()
	changes := make(chan jetstream.KeyValueEntry)
	all.Go(func() {
		records.Follow(ctx, k.JS, bus.SchedulesBucket, k.Log, func(e jetstream.KeyValueEntry) {
			if e.Operation() == jetstream.KeyValueDelete {
				all.Go(func() { k.adoptAgain(ctx, e.Key(), e.Revision()) })
			}
			select {
			case changes <- e:
			case <-ctx.Done():
			}
		}, nil)
	})
	clock := make(chan found)
	all.Go(func() {
		k.clock.follow(ctx, func(f found) {
			select {
			case clock <- f:
			case <-ctx.Done():
			}
		})
	})
	b := book{Keeper: k, entries: map[string]*page{}, wheel: newWheel[string](), done: make(chan attended), slots: make(chan struct{}, attending)}
	defer b.wheel.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-changes:
			b.change(e)
		case a := <-b.done:
			b.attended(a)
		case f := <-clock:
			b.lookAtAll(f)
		case <-b.wheel.timer.C:
		}
		now := time.Now()
		for s, ok := b.wheel.pop(now); ok; s, ok = b.wheel.pop(now) {
			if p := b.entries[s.what]; p != nil && p.wake.Equal(s.due) && !p.busy {
				p.busy = true
				seen := *p
				all.Go(func() { b.attend(ctx, seen) })
			}
		}
	}
}

// A book is what a running Keeper knows. It is for one goroutine, but for
// attend.
type book struct {
	*Keeper
	entries map[string]*page
	wheel   *wheel[string]
	done    chan attended
	slots   chan struct{}
}

// A page is an entry and how far it is looked after.
type page struct {
	kept
	armed string    // the firing that the server is known to hold, or to have held
	wake  time.Time // when to look at it
	busy  bool      // it is being looked at
	again found     // and is to be again then
}

// An attended page has been looked at.
type attended struct {
	key      string
	revision uint64
	armed    string
	wake     time.Time // zero: no more, until it changes
}

func (b *book) change(e jetstream.KeyValueEntry) {
	k, err := decodeKept(e.Revision(), e.Value())
	switch {
	case e.Operation() != jetstream.KeyValuePut:
		delete(b.entries, e.Key())
		return
	case err != nil || k.Key() != e.Key():
		b.Log.Warn().Err(err).Str("key", e.Key()).Msg("read schedule from the bucket: failed; ignored")
		return
	}
	p := b.entries[e.Key()]
	if p == nil {
		p = &page{}
		b.entries[e.Key()] = p
	}
	if p.text() != k.text() {
		p.armed = "" // what the server holds says something else
	}
	p.kept = k
	b.wakeAt(p, time.Now())
}

func (b *book) wakeAt(p *page, t time.Time) {
	p.wake = t
	if !t.IsZero() {
		b.wheel.add(time.Now(), t, p.Key())
	}
}

// lookAtAll looks at all entries again, for what was found.
func (b *book) lookAtAll(f found) {
	for _, p := range b.entries {
		if p.busy {
			p.again = found{p.again.set || f.set, p.again.emptied || f.emptied}
			continue
		}
		b.lookAt(p, f)
	}
}

// lookAt looks at an entry again: when it is due and, unless that is now, whether the server still
// holds it. What it does not hold at its time has fired.
func (b *book) lookAt(p *page, f found) {
	p.again = found{}
	if f.emptied && p.Next.After(b.clock.soon().Add(tryAgain)) {
		p.armed = ""
	}
	b.wakeAt(p, time.Now())
}

func (b *book) attended(a attended) {
	p := b.entries[a.key]
	if p == nil {
		return
	}
	p.busy = false
	if p.revision != a.revision { // it has changed meanwhile
		b.wakeAt(p, time.Now())
		return
	}
	p.armed = a.armed
	if p.again != (found{}) {
		b.lookAt(p, p.again)
		return
	}
	b.wakeAt(p, a.wake)
}

// attend does what is due for an entry, and returns when to look again.
func (b *book) attend(ctx context.Context, p page) {
	a := attended{key: p.Key(), revision: p.revision, armed: p.armed}
	select {
	case b.slots <- struct{}{}:
		within, cancel := context.WithTimeout(ctx, keepWithin)
		wait, err := b.step(within, p.kept, &a)
		cancel()
		<-b.slots
		switch {
		case ctx.Err() != nil:
		case err != nil:
			b.Log.Warn().Err(err).Str("agent", p.Agent).Str("schedule", p.Name).Msg("update schedule: failed; retrying")
			a.wake = time.Now().Add(tryAgain)
		case wait > 0:
			a.wake = time.Now().Add(wait)
		}
	case <-ctx.Done():
	}
	select {
	case b.done <- a:
	case <-ctx.Done():
	}
}

// step arms the next firing of an entry; when that has fired, it moves the
// entry on. After wait it is to be looked at again; 0: when it has changed.
func (k *Keeper) step(ctx context.Context, e kept, a *attended) (wait time.Duration, err error) {
	now, err := k.clock.now(ctx)
	if err != nil {
		return 0, err
	}
	switch misdated, err := e.misdated(now); {
	case err != nil:
		return 0, err
	case misdated:
		return 0, k.put(ctx, e, now)
	}
	id := e.firingID()
	if a.armed != id {
		if e.Missed == MissedSkip && now.Sub(e.Next) > late {
			return 0, k.advance(ctx, e, now)
		}
		armed, err := k.arm(ctx, e.Entry, now)
		if err != nil || !armed {
			return lookAgain, err
		}
		a.armed = id
	}
	if left := e.Next.Add(settle).Sub(now); left > 0 {
		return left, nil
	}
	held, err := k.holds(ctx, e.Entry)
	switch {
	case err != nil:
		return lookAgain, err
	case held.ID != id:
		return 0, k.advance(ctx, e, now)
	case now.Sub(e.Next) > overdue:
		err = k.fire(ctx, e.Entry, held.seq)
	}
	return lookAgain, err
}

// advance moves an entry on to its first firing after now, or forgets it when
// it has none. Where another host has done so, nothing changes.
func (k *Keeper) advance(ctx context.Context, e kept, now time.Time) error {
	if e.Next.After(now) {
		now = e.Next
	}
	return k.put(ctx, e, now)
}

// put has an entry be due at its first firing after a time.
func (k *Keeper) put(ctx context.Context, e kept, after time.Time) error {
	kv, err := k.JS.KeyValue(ctx, bus.SchedulesBucket)
	if err != nil {
		return err
	}
	next, more, err := e.after(after)
	switch {
	case err != nil:
		return err
	case !more:
		err = kv.Purge(ctx, e.Key(), jetstream.LastRevision(e.revision))
	default:
		err = putEntry(ctx, kv, next, e.revision)
	}
	switch {
	case !records.Overtaken(err):
		return err
	case more:
		return k.putBack(ctx, kv, next)
	}
	return nil
}

func putEntry(ctx context.Context, kv jetstream.KeyValue, e Entry, revision uint64) error {
	data, err := json.Marshal(e)
	if err == nil {
		_, err = records.Replace(ctx, kv, e.Key(), data, revision)
	}
	return err
}
