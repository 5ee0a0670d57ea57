package toolcall

import (
	"context"
	"slices"
	"sync"

	"agenthost/run"
)

// A Round is the tool calls that begin together. Those that ask a person do so in the
// order of the calls, and when it is known how many they are. Tasks are handed over after
// that: who works on one may ask in the same chat, and counts what is asked there.
type Round struct {
	t     *Caller
	turns []*RoundCall // in the order of the calls
	begun int

	mu      sync.Mutex
	left    int // calls of which is not known whether they ask
	decided chan struct{}
}

// A RoundCall is one call of a round.
type RoundCall struct {
	round *Round
	known bool          // whether it asks
	wait  *run.Wait     // what it asks
	told  chan struct{} // closed when the machine has its signal
}

// NewRound is the round of the calls among effects.
func (t *Caller) NewRound(effects []run.Effect) *Round {
	if !slices.ContainsFunc(effects, func(e run.Effect) bool { return e.Kind == run.RunTool }) { // as mostly
		return nil
	}
	b := &Round{t: t, decided: make(chan struct{})}
	for i := range effects {
		if effects[i].Kind == run.RunTool {
			b.turns = append(b.turns, &RoundCall{round: b, told: make(chan struct{})})
		}
	}
	b.left = len(b.turns)
	return b
}

// Next is the next call of the round to begin.
func (b *Round) Next() *RoundCall {
	b.begun++
	return b.turns[b.begun-1]
}

// settle says whether a call asks; the first word counts.
func (u *RoundCall) settle(wait *run.Wait) {
	b := u.round
	if !b.decides(u, wait) {
		return
	}
	var waits []*run.Wait
	for _, other := range b.turns {
		if other.wait != nil {
			waits = append(waits, other.wait)
		}
	}
	b.t.Word(waits)
	close(b.decided)
}

// decides notes whether a call asks, and reports whether it was the last to say so.
func (b *Round) decides(u *RoundCall, wait *run.Wait) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.known {
		return false
	}
	u.known, u.wait = true, wait
	b.left--
	return b.left == 0
}

// Ask returns the signal of a call when it is its turn: at once, unless it asks.
func (u *RoundCall) Ask(ctx context.Context, sig run.Signal) run.Signal {
	if sig.Wait == nil {
		u.settle(nil)
		return sig
	}
	before := u.round.turns
	if sig.Wait.For == run.ForDelegate {
		u.settle(nil)
	} else {
		u.settle(sig.Wait)
		if u.wait != sig.Wait { // it has worked before it asked
			u.round.t.Word([]*run.Wait{sig.Wait})
			return sig
		}
		before = before[:slices.Index(before, u)]
	}
	awaitDone(ctx, u.round.decided)
	for _, other := range before {
		if other.wait != nil {
			awaitDone(ctx, other.told)
		}
	}
	return sig
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
