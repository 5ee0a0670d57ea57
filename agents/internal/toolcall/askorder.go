package toolcall

import (
	"context"
	"slices"
	"sync"

	"agenthost/run"
)

// An askOrder has the calls of a run that ask a person do so in the order in which they began,
// and knows the numbers that they were given.
type askOrder struct {
	mu     sync.Mutex
	rounds []*Round    // that are not worded yet, in the order in which they began
	last   *RoundCall  // the last that was worded
	given  []givenWait // what the machine does not have yet
}

// A givenWait is what a call asks, worded and on its way to the machine.
type givenWait struct {
	call string
	wait *run.Wait
}

// A Round is the tool calls that begin together. Those that ask a person do so in the
// order of the calls, behind those of the rounds before, and when it is known how many they
// are. Tasks are handed over after that: who works on one may ask in the same chat, and counts
// what is asked there.
type Round struct {
	t     *Caller
	turns []*RoundCall // in the order of the calls
	begun int
	more  bool // calls of the same answer are still to begin, and may ask as well

	// Guarded by the order of the caller.
	left    int           // calls of which is not known whether they ask
	last    *RoundCall    // the last that asks, of this round and those before
	decided chan struct{} // closed when all is worded
}

// A RoundCall is one call of a round.
type RoundCall struct {
	round *Round
	known bool          // whether it asks
	wait  *run.Wait     // what it asks
	call  string        // its id, once it asks
	after *RoundCall    // that asks before it
	told  chan struct{} // closed when the machine has its signal
}

// NewRound is the round of the calls among effects, the latest of the machine.
func (t *Caller) NewRound(effects []run.Effect) *Round {
	t.order.forget(t.Journal.State().Run)
	if !slices.ContainsFunc(effects, func(e run.Effect) bool { return e.Kind == run.RunTool }) { // as mostly
		return nil
	}
	b := &Round{t: t, decided: make(chan struct{})}
	for i := range effects {
		if effects[i].Kind == run.RunTool {
			b.turns = append(b.turns, &RoundCall{round: b, told: make(chan struct{})})
		}
	}
	left := t.Journal.State().Run
	b.left, b.more = len(b.turns), left != nil && left.Unbegun()
	t.order.mu.Lock()
	defer t.order.mu.Unlock()
	t.order.rounds = append(t.order.rounds, b)
	return b
}

// forget drops what the machine has got: left is its run.
func (o *askOrder) forget(left *run.Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.given) == 0 { // as mostly
		return
	}
	o.given = slices.DeleteFunc(o.given, func(g givenWait) bool {
		return left == nil || slices.ContainsFunc(left.Calls, func(c run.Call) bool { return c.ID == g.call && c.Wait == g.wait.ID })
	})
}

// Next is the next call of the round to begin.
func (b *Round) Next() *RoundCall {
	b.begun++
	return b.turns[b.begun-1]
}

// settle says whether a call asks; the first word counts. It reports whether this was it.
func (u *RoundCall) settle(wait *run.Wait) bool {
	o := &u.round.t.order
	o.mu.Lock()
	defer o.mu.Unlock()
	if u.known {
		return false
	}
	u.known, u.wait = true, wait
	u.round.left--
	for len(o.rounds) > 0 && o.rounds[0].left == 0 {
		o.rounds[0].word()
		o.rounds = slices.Delete(o.rounds, 0, 1)
	}
	return true
}

// word words what the calls ask. Called with the lock of the order held.
func (b *Round) word() {
	o := &b.t.order
	var asking []*RoundCall
	for _, u := range b.turns {
		if u.wait != nil {
			u.after, o.last = o.last, u
			asking = append(asking, u)
		}
	}
	b.last = o.last
	b.give(asking...)
	close(b.decided)
}

// give words what calls of the round ask, and remembers it. Called with the lock of the order
// held.
func (b *Round) give(asking ...*RoundCall) {
	if len(asking) == 0 { // as mostly
		return
	}
	o, waits := &b.t.order, make([]*run.Wait, len(asking))
	for i, u := range asking {
		waits[i] = u.wait
	}
	b.t.word(waits, o.highest(), b.more)
	for _, u := range asking {
		o.given = append(o.given, givenWait{u.call, u.wait})
	}
}

// highest is the highest number of what the machine does not have yet. Called with the lock held.
func (o *askOrder) highest() (n int) {
	for _, g := range o.given {
		n = max(n, g.wait.Number, 1)
	}
	return n
}

// askLate words what a call asks that has worked before it asked.
func (u *RoundCall) askLate(wait *run.Wait) {
	o := &u.round.t.order
	o.mu.Lock()
	defer o.mu.Unlock()
	u.wait = wait
	u.round.give(u)
}

// Ask returns the signal of a call when it is its turn: at once, unless it asks.
func (u *RoundCall) Ask(ctx context.Context, sig run.Signal) run.Signal {
	if sig.Wait == nil {
		u.settle(nil)
		return sig
	}
	u.call = sig.Call
	task := sig.Wait.For == run.ForDelegate
	switch {
	case task:
		u.settle(nil)
	case !u.settle(sig.Wait):
		u.askLate(sig.Wait)
		return sig
	}
	awaitDone(ctx, u.round.decided)
	if before := u.before(task); before != nil {
		awaitDone(ctx, before.told)
	}
	return sig
}

// before is the call that has to ask before it, nil if none has; a task is behind all of
// its round.
func (u *RoundCall) before(task bool) *RoundCall {
	o := &u.round.t.order
	o.mu.Lock()
	defer o.mu.Unlock()
	if task {
		return u.round.last
	}
	return u.after
}

func awaitDone(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Done says that the machine has the signal of the call, or never will.
func (u *RoundCall) Done() {
	u.settle(nil)
	close(u.told)
}
