package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// What a person is told when a handler itself gives no reason.
const (
	reasonFailed = "A check that has to pass first could not be made, so this was stopped. Please try again later."
	reasonNone   = "A rule of this service stopped this."
)

// Fire calls the handlers of call.Hook and returns what they want together:
// Abort with a reason, as soon as one of them wants that and the point is a
// before_* one; Override with the whole of the arguments, when one of them
// changed any; else Continue with the arguments of the call. The arguments of
// the call itself are never written to.
//
// Fire blocks until the last handler has answered or outlived its timeout. A
// handler that ignores its context is abandoned to its goroutine, which ends
// when the handler returns. Fire takes no lock and, when the point has no
// handler, allocates nothing.
func (r *Registry) Fire(ctx context.Context, call Call) Outcome {
	chain := r.chain(call.Hook)
	if len(chain) == 0 {
		return Outcome{Action: Continue, Args: call.Args}
	}
	return r.fire(ctx, chain, call)
}

// fire is apart from Fire because what it passes to goroutines escapes.
func (r *Registry) fire(ctx context.Context, chain []*link, call Call) Outcome {
	action := Continue
	for _, l := range chain {
		out := r.ask(ctx, l, call)
		switch {
		case out.Action == Abort:
			return out
		case out.Action == Override && len(out.Args) > 0:
			action = Override
			call.Args = merged(call.Args, out.Args)
		}
	}
	return Outcome{Action: action, Args: call.Args}
}

// ask calls one handler and settles what becomes of its fault, if it has one.
func (r *Registry) ask(ctx context.Context, l *link, call Call) Outcome {
	start := time.Now()
	before := strings.HasPrefix(call.Hook, "before_")
	out, err := l.answer(ctx, call)
	if err == nil && out.Action == Abort && !before {
		err = errors.New("abort at a point that cannot be aborted")
	}
	if err == nil {
		if out.Action == Abort {
			out.Reason = cmp.Or(out.Reason, reasonNone)
		}
		return out
	}
	closed := l.opts.FailClosed && before
	level := zerolog.WarnLevel
	if closed {
		level = zerolog.ErrorLevel
	}
	event := r.log.WithLevel(level) //nolint:zerologlint // sent at the end
	if p, ok := errors.AsType[*panicError](err); ok {
		event = event.Bytes("stack", p.stack)
	}
	event.Str("hook", call.Hook).Str("handler", l.label).Str("agent", call.Agent).Str("session", call.Session).
		Str("run", call.Run).Dur("took", time.Since(start)).Bool("closed", closed).Err(err).Msg("hook failed")
	if closed {
		return Outcome{Action: Abort, Reason: reasonFailed}
	}
	return Outcome{Action: Continue}
}

// answer calls the handler in a goroutine of its own, so that neither a panic
// nor a handler that never returns reaches the caller.
func (l *link) answer(ctx context.Context, call Call) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.opts.Timeout, l.late)
	defer cancel()
	call.Args = maps.Clone(call.Args)
	answers := make(chan answer, 1) // an abandoned handler must not block on it
	go func() {
		a := answer{err: errors.New("handler ended without an answer")}
		defer func() {
			if v := recover(); v != nil {
				a.err = &panicError{value: v, stack: debug.Stack()}
			}
			answers <- a
		}()
		a.out, a.err = l.handler(ctx, call)
	}()
	select {
	case a := <-answers:
		if a.err != nil && ctx.Err() != nil {
			return Outcome{}, context.Cause(ctx)
		}
		return a.out, cmp.Or(a.err, a.out.check())
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}

type answer struct {
	out Outcome
	err error
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// check finds what a caller could not use.
func (o Outcome) check() error {
	switch o.Action {
	case "", Continue, Abort:
		return nil
	case Override:
		for name, value := range o.Args {
			if !json.Valid(value) {
				return fmt.Errorf("override %q: not JSON", name)
			}
		}
		return nil
	default:
		return fmt.Errorf("unknown action %q: want continue, override or abort", o.Action)
	}
}

func merged(args, changes Args) Args {
	all := make(Args, len(args)+len(changes))
	maps.Copy(all, args)
	maps.Copy(all, changes)
	return all
}
