package hooks

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// A leg calls handlers of a chain one after the other in a goroutine of its
// own, so that neither a panic nor a handler that never returns reaches the
// caller. It ends with the chain, or at the first handler that aborts or fails;
// behind a fault the caller goes on with another leg. One goroutine for many
// handlers is what makes them cheap.
type leg struct {
	ctx   context.Context //nolint:containedctx // of this leg's handlers alone
	end   context.CancelCauseFunc
	log   *zerolog.Logger
	chain []*link
	ended chan struct{}

	// at is the handler that is being called, or one of the states below. Who
	// wins the swap from a handler may write what follows: the goroutine to go
	// on, the caller to go on without it.
	at atomic.Int32

	call   Call // as the handlers so far have left it
	action Action
	acts   []Act // the overrides among them

	// Set when ended is closed.
	last   int // the handler that ended it; the length of the chain: none
	reason string
	fault  error
}

// The states of leg.at that are no handler.
const (
	abandoned = -1 - iota // the goroutine is no longer waited for
	between               // the answer of a handler is being taken
	over
)

// looks is how often, in the shortest timeout, the caller looks which handler
// is being called: so much later than at its timeout one may be abandoned that
// is not the first of its leg. To take the time at each would cost more than
// most handlers do.
const looks = 32

var errNoAnswer = errors.New("handler ended without an answer")

func (r *Registry) startLeg(ctx context.Context, chain []*link, call Call, action Action) *leg {
	ctx, end := context.WithCancelCause(ctx)
	l := &leg{ctx: ctx, end: end, log: &r.log, chain: chain, call: call, action: action, ended: make(chan struct{})}
	go l.walk()
	return l
}

func (l *leg) walk() {
	n, reason, fault := 0, "", errNoAnswer // unless a handler ends the goroutine
	defer func() {
		if l.at.CompareAndSwap(int32(n), over) { //nolint:gosec // MaxPerName at most
			l.last, l.reason, l.fault = n, reason, fault
			close(l.ended)
		}
	}()
	for n < len(l.chain) {
		out, err := l.chain[n].answer(l.ctx, l.call)
		switch {
		case err != nil && l.ctx.Err() != nil:
			fault = context.Cause(l.ctx)
			return
		case err != nil:
			fault = err
			return
		case out.Action == Abort && !before(l.call.Hook):
			fault = errors.New("abort at a point that cannot be aborted")
			return
		case out.Action == Abort:
			reason, fault = out.Reason, nil
			return
		}
		if !l.at.CompareAndSwap(int32(n), between) { //nolint:gosec // as above
			return
		}
		if out.Action == Override && len(out.Args) > 0 {
			l.take(l.chain[n], out.Args)
		}
		n++
		l.at.Store(int32(n)) //nolint:gosec // as above
	}
	fault = nil
}

// wait returns when the leg has ended, or when a handler has outlived its
// timeout or ctx: then it is the one that ended the leg.
func (l *leg) wait(ctx context.Context) {
	defer l.end(nil)
	runtime.Gosched() // most handlers are so quick that the clock need not be asked
	if l.at.Load() == over {
		<-l.ended
		return
	}
	timer := time.NewTimer(l.look(l.chain[0].opts.Timeout))
	defer timer.Stop()
	seen, since := int32(0), time.Now()
	for {
		select {
		case <-l.ended:
			return
		case <-ctx.Done():
			if !l.abandon(l.at.Load(), context.Cause(ctx)) {
				<-l.ended
			}
			return
		case now := <-timer.C:
			at := l.at.Load()
			if at != seen {
				seen, since = at, now
			}
			left := l.left(at, now.Sub(since))
			if left <= 0 && l.abandon(at, l.chain[at].late) {
				return
			}
			timer.Reset(l.look(left))
		}
	}
}

// look is when to look again at a handler that has so much time left.
func (l *leg) look(left time.Duration) time.Duration {
	if len(l.chain) == 1 {
		return left
	}
	shortest := l.chain[0].opts.Timeout
	for _, link := range l.chain[1:] {
		shortest = min(shortest, link.opts.Timeout)
	}
	return max(min(left, shortest/looks), time.Millisecond)
}

// left is how much of its time a handler has left.
func (l *leg) left(at int32, passed time.Duration) time.Duration {
	if at < 0 || int(at) >= len(l.chain) {
		return time.Millisecond
	}
	return l.chain[at].opts.Timeout - passed
}

// abandon goes on without the handler at that place, if it is still called.
func (l *leg) abandon(at int32, why error) bool {
	if at < 0 || int(at) >= len(l.chain) || !l.at.CompareAndSwap(at, abandoned) {
		return false
	}
	l.last, l.fault = int(at), why
	l.end(why)
	return true
}

// answer calls the handler and contains its panic.
func (l *link) answer(ctx context.Context, call Call) (out Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	if out, err = l.handler(ctx, call); err == nil {
		err = out.check(call.Changeable)
	}
	return out, err
}
