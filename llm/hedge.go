package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A race is a call that is hedged: while it does not answer, the next links are
// asked as well, and the first to speak gives the answer. Providers run each in a
// goroutine; what they say is taken by the chain's own, so nothing else of the
// chain is shared.
type race struct {
	s       *chainStream
	calls   []*runner // the first is the one whose turn it is
	winner  *runner
	running int
	said    chan saying
}

// A runner is one of the calls.
type runner struct {
	*call
	cancel context.CancelCauseFunc
}

// A saying is what a provider says, or that it says no more.
type saying struct {
	from     *runner
	delta    Delta
	err      error
	done     bool
	panicked any
}

var errLost = errors.New("another model of the chain was faster")

// race calls l, and when it has not begun its answer after its hedge others as
// well. Nil means that the caller has seen the end or has left.
func (s *chainStream) race(l *leg, provider Provider, p pass) *Error {
	r := &race{s: s, said: make(chan saying)}
	defer r.stop()
	r.start(l, provider, p)
	hedge := time.NewTimer(l.Hedge)
	defer hedge.Stop()
	for r.running > 0 {
		select {
		case m := <-r.said:
			r.take(m)
		case <-hedge.C:
			if next := r.hedge(); next > 0 {
				hedge.Reset(next)
			}
		}
	}
	return r.fault()
}

func (r *race) start(l *leg, provider Provider, p pass) {
	ctx, cancel := context.WithCancelCause(r.s.ctx)
	c := &runner{r.s.begin(l, p), cancel}
	ctx, c.watch = watched(ctx, l.Timeouts)
	r.calls = append(r.calls, c)
	r.running++
	go r.run(ctx, c, provider)
}

func (r *race) run(ctx context.Context, c *runner, provider Provider) {
	defer func() { r.said <- saying{from: c, done: true, panicked: recover()} }()
	provider.Stream(ctx, c.leg.req)(func(d Delta, err error) bool {
		select {
		case r.said <- saying{from: c, delta: d, err: err}:
			return err == nil && d.Finish == ""
		case <-ctx.Done():
			return false
		}
	})
}

// take takes what one of the calls says.
func (r *race) take(m saying) {
	c := m.from
	switch {
	case m.panicked != nil:
		r.running--
		panic(m.panicked) // in the caller's goroutine, as without a hedge
	case m.done:
		r.running--
		c.over()
		c.cancel(nil)
		return
	case c.ended:
		return
	case r.winner == nil && r.speaks(m):
		r.win(c)
	}
	if !c.hear(m.delta, m.err) {
		c.cancel(nil)
	}
}

// speaks reports whether m is the beginning of an answer.
func (r *race) speaks(m saying) bool {
	silent := m.delta.Finish != "" && (r.s.req.Silence || m.delta.Finish == FinishContentFilter)
	return m.err == nil && (says(&m.delta) || silent)
}

// win cancels the other calls. They are paid for all the same.
func (r *race) win(c *runner) {
	r.winner = c
	for _, other := range r.calls {
		if other == c || other.ended {
			continue
		}
		other.beaten = true
		_ = other.watch.stop()
		other.end(&Error{Code: CodeCancelled, Err: fmt.Errorf("%w: %s", errLost, name(c.leg))})
		other.cancel(errLost)
	}
}

// hedge asks the next link that lets a call through now, unless the answer has
// begun. It returns after what time to ask a further one, 0: none.
func (r *race) hedge() time.Duration {
	for _, c := range r.calls {
		if r.winner != nil || !c.ended && c.watch.hasBegun() {
			return 0
		}
	}
	for i := range r.s.legs {
		l := &r.s.legs[i]
		if l.over || l.tries() >= triesPerLink || r.asks(l) || !r.admit(l) {
			continue
		}
		p, ok := l.Gate.tryEnter()
		if !ok {
			l.admission.settle(0)
			continue
		}
		provider, _ := l.Gate.current(l.Link)
		r.start(l, provider, p)
		return l.Hedge
	}
	return 0
}

// hedgeAdmit is how long the leave for a further call is waited for: what a
// budget leaves may depend on the call under way, which is not read meanwhile.
const hedgeAdmit = 250 * time.Millisecond

func (r *race) admit(l *leg) bool {
	ctx, cancel := context.WithTimeout(r.s.ctx, hedgeAdmit)
	defer cancel()
	return r.s.admit(ctx, l) == nil
}

func (r *race) asks(l *leg) bool {
	for _, c := range r.calls {
		if c.leg == l {
			return true
		}
	}
	return false
}

// fault is what the race comes to for the link whose turn it is. What the others
// have failed by is noted with them, for their own turn.
func (r *race) fault() *Error {
	if r.winner != nil && r.winner.fault == nil {
		return nil
	}
	for _, c := range r.calls[1:] {
		if !c.beaten {
			c.leg.err = c.fault
			c.leg.over = c.leg.tries() >= triesPerLink || !c.fault.Transient && c.fault.Code != CodeProviderAuth
		}
	}
	first := r.calls[0]
	switch {
	case r.s.ctx.Err() != nil:
		return Stopped(r.s.ctx)
	case r.winner == nil || r.winner == first:
		return first.fault
	case r.s.seen:
		return r.winner.fault
	}
	// It may have answered: it is tried again after those that have not failed.
	return &Error{Code: CodeProviderUnavailable, Transient: true, TimedOut: true, Err: first.fault.Err}
}

// stop waits for the providers, which have nothing more to say unless a panic is
// on its way.
func (r *race) stop() {
	for _, c := range r.calls {
		c.cancel(nil)
		c.abandon()
	}
	for r.running > 0 {
		if m := <-r.said; m.done {
			r.running--
		}
	}
}
