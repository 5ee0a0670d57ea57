package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// ErrFenced means that another host has written to the session since it was
// opened: uncommitted work of this one must be discarded.
var ErrFenced = errors.New("session belongs to another host now")

// commitHeader identifies a commit, so that a host that sent one twice can tell
// which copy was refused.
const commitHeader = "Agent-Commit"

// A Log is the log of one session as its owner sees it. Its methods are safe
// for concurrent use. Commits are written one after the other, in the order of
// the calls; after the fence has refused one it refuses every later one, and the
// session must be opened again.
type Log struct {
	store                *Store
	key                  Key
	subject, snapSubject string

	mu      sync.Mutex
	state   run.State
	seq     uint64    // of the last commit
	replied uint64    // the last commit with replies
	brought bool      // the unfinished run was answered by another lane than that of its messages, or these waited in the log
	spokeAt time.Time // when that was made, if its run was; else zero
	spoken  spoken    // the others of runs with several
	ids     ids       // of all inputs
	open    []string  // ids of the unfinished run's inputs, and of what has answered its questions
	since   int       // commits since the last snapshot
	tail    int       // their bytes
	snap    stored    // the last snapshot
	fresh   bool      // a compaction was committed since
	owed    int       // commits that the state shows and queue does not have yet
	queue   []*commit
	busy    bool
	broken  error
}

type commit struct {
	ctx    context.Context
	run    string
	events []run.Event
	lent   bool // the events have no other reader
	done   func(error)
	id     string
	page   *[]byte // it is written on
	size   int
}

// Key is the session's key.
func (l *Log) Key() Key { return l.key }

// Step gives the machine a signal. Each commit among the effects is owed: the
// caller passes it to Commit, or gives the log up.
func (l *Log) Step(sig run.Signal, lim run.Limits) []run.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owe(l.state.Step(&sig, &lim))
}

// Resume takes up the unfinished run of a log that was just opened.
func (l *Log) Resume(at time.Time, lim run.Limits) []run.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	state, effects := run.Resume(l.state, at, lim)
	l.state = state
	return l.owe(effects)
}

// owe counts the commits among effects.
func (l *Log) owe(effects []run.Effect) []run.Effect {
	for i := range effects {
		if effects[i].Kind == run.Commit {
			l.owed++
		}
	}
	return effects
}

// State is the state as it is now. It may be kept and read.
func (l *Log) State() run.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// View shows look the state as it is now, with what only the newest State may
// be asked for, as its Partial. look must not use the log.
func (l *Log) View(look func(run.State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	look(l.state)
}

// Err is why nothing more can be committed, so that the log has to be opened
// again; nil while it is in order.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Break has the log refuse with err what is not on its way to NATS yet, and all that comes later: it
// has to be opened again.
func (l *Log) Break(err error) {
	l.mu.Lock()
	if l.broken != nil {
		l.mu.Unlock()
		return
	}
	l.broken = err
	var refused []*commit
	if len(l.queue) > 1 {
		refused = slices.Clone(l.queue[1:])
		l.queue = slices.Delete(l.queue, 1, len(l.queue))
	}
	l.mu.Unlock()
	for _, c := range refused {
		c.done(err)
	}
}

// IsCurrent asks whether l is all that is stored of the log, as if it were opened now. It is
// false too where that cannot be found out, and while a commit is on its way.
func (l *Log) IsCurrent(ctx context.Context) bool {
	if l.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	last, err := l.store.Reader.Last(ctx, bus.SessionsStream, l.subject)
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken == nil && !l.busy && l.owed == 0 && len(l.queue) == 0 && l.state.Pending() == 0 && last.Seq == l.seq
}

// Add folds events that are no run's and commits them.
func (l *Log) Add(ctx context.Context, events []run.Event, done func(error)) {
	l.mu.Lock()
	l.apply(events)
	l.owed++
	l.mu.Unlock()
	l.commit(&commit{ctx: ctx, events: events, done: done})
}

// Commit appends the events of a commit that Step owed, which are the log's
// from then on, and returns at once.
// done is called once it is stored or refused; it must not block. ctx bounds
// what is too large for a message and is stored first, and the search for a
// commit that NATS may or may not have stored before it went away.
func (l *Log) Commit(ctx context.Context, runID string, events []run.Event, done func(error)) {
	l.commit(&commit{ctx: ctx, run: runID, events: events, lent: true, done: done})
}

func (l *Log) commit(c *commit) {
	l.mu.Lock()
	l.owed--
	if err := l.broken; err != nil {
		l.mu.Unlock()
		c.done(err)
		return
	}
	l.queue = append(l.queue, c)
	if l.busy {
		l.mu.Unlock()
		return
	}
	l.busy = true
	l.mu.Unlock()
	l.next()
}

// next sends the oldest commit of the queue.
func (l *Log) next() {
	l.mu.Lock()
	c := l.queue[0]
	l.mu.Unlock()
	c.page = pages.Get().(*[]byte)
	data, err := appendCommit((*c.page)[:0], l.key, c.run, c.events)
	c.size, *c.page = len(data), data
	switch {
	case err != nil:
		l.settle(c, 0, fmt.Errorf("encode commit: %w", err))
	case len(data) > l.store.limit():
		go l.sendLarge(c) // no callback waits for the object store
	default:
		l.send(c, data)
	}
}

// sendLarge sends a commit whose events go to the object store.
func (l *Log) sendLarge(c *commit) {
	object, err := l.store.putFile(c.ctx, c.events)
	if err != nil {
		l.settle(c, 0, fmt.Errorf("commit: %w", err))
		return
	}
	data, err := json.Marshal(Commit{V: version, Key: l.key, Run: c.run, Object: object})
	if err != nil {
		l.settle(c, 0, fmt.Errorf("encode commit: %w", err))
		return
	}
	l.send(c, data)
}

func (l *Log) send(c *commit, data []byte) {
	l.mu.Lock()
	seq := l.seq
	l.mu.Unlock()
	c.id = nuid.Next()
	msg := &nats.Msg{
		Subject: l.subject, Data: data,
		Header: bus.Header(expectedLastSubjectSequence, strconv.FormatUint(seq, 10), commitHeader, c.id),
	}
	l.store.Publisher.Publish(msg, func(seq uint64, resent bool, err error) { l.stored(c, seq, resent, err) })
}

// stored takes the server's answer. A refusal of a message that was sent twice
// may be due to the first copy: then the log has the commit.
func (l *Log) stored(c *commit, seq uint64, resent bool, err error) {
	switch {
	case err == nil:
		if !resent && c.size <= pageKept {
			pages.Put(c.page)
		}
		l.settle(c, seq, nil)
	case bus.Refused(err) && resent:
		go l.resolve(c)
	case bus.Refused(err):
		l.settle(c, 0, ErrFenced)
	default:
		l.settle(c, 0, fmt.Errorf("commit: %w", err))
	}
}

// resolve finds out whether the head of the log is c.
func (l *Log) resolve(c *commit) {
	for {
		ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
		rec, err := l.store.Reader.Last(ctx, bus.SessionsStream, l.subject)
		cancel()
		switch {
		case err == nil && rec.Header.Get(commitHeader) == c.id:
			l.settle(c, rec.Seq, nil)
			return
		case err == nil, errors.Is(err, records.ErrNotFound), c.ctx.Err() != nil:
			l.settle(c, 0, ErrFenced)
			return
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// settle ends the commit at the head of the queue and sends the next.
func (l *Log) settle(c *commit, seq uint64, err error) {
	l.mu.Lock()
	after := l.seq
	l.queue = slices.Delete(l.queue, 0, 1) // and nothing holds on to it
	more := len(l.queue) > 0
	var refused []*commit
	if err != nil {
		l.broken = err
		refused, l.queue, more = l.queue, nil, false
	} else {
		l.note(seq, c.size, c.events)
	}
	l.busy = more
	snap := l.takeSnapshot()
	l.mu.Unlock()
	if snap != nil {
		go l.writeSnapshot(c.ctx, snap)
	}
	if err == nil && l.store.Committed != nil {
		l.store.Committed(l.subject, l.key, c.run, after, seq, c.events)
	}
	c.done(err)
	if c.lent {
		run.Recycle(c.events)
	}
	for _, r := range refused {
		r.done(err)
	}
	if more {
		l.next()
	}
}
