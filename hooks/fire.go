package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// Fire calls the handlers of call.Hook and returns what they want together:
// Abort, as soon as one of them wants that and the point is a before_* one, with its
// reason if it gives one, or one has failed that is to fail closed; Override with the whole of the arguments, when one of them
// changed any that is Changeable; else Continue with the arguments of the call.
// The arguments of the call itself are never written to.
//
// Fire blocks until the last handler has answered or outlived its timeout. A
// handler that ignores its context is abandoned to its goroutine, which ends
// when the handler returns. Fire takes no lock and, when the point has no
// handler, allocates nothing.
func (r *Registry) Fire(ctx context.Context, call Call) Outcome {
	chain := fitting(r.chain(call.Hook), call.Agent, call.Session)
	if len(chain) == 0 {
		return Outcome{Action: Continue, Args: call.Args}
	}
	return r.fire(ctx, chain, call)
}

// fire is apart from Fire because what it passes to goroutines escapes.
func (r *Registry) fire(ctx context.Context, chain []*link, call Call) Outcome {
	action := Continue
	var acts []Act
	for len(chain) > 0 {
		l := r.startLeg(ctx, chain, call, action)
		l.wait(ctx)
		call, action, acts = l.call, l.action, append(acts, l.acts...)
		if l.last == len(chain) {
			break
		}
		act := Act{Handler: chain[l.last].label, At: time.Now(), Action: Continue, Reason: l.reason, Err: l.fault}
		if l.fault == nil {
			act.Action = Abort
			return Outcome{Action: Abort, Reason: l.reason, Acts: append(acts, act)}
		}
		if r.failed(chain[l.last], call, l.fault) {
			act.Action = Abort
			return Outcome{Action: Abort, Acts: append(acts, act)}
		}
		acts, chain = append(acts, act), chain[l.last+1:]
	}
	return Outcome{Action: action, Args: call.Args, Acts: acts}
}

// failed settles what becomes of the fault of a handler: whether it aborts.
func (r *Registry) failed(l *link, call Call, err error) (closed bool) {
	closed = l.opts.FailClosed && CanFailClosed(call.Hook)
	level := zerolog.WarnLevel
	if closed {
		level = zerolog.ErrorLevel
	}
	event := r.log.WithLevel(level) //nolint:zerologlint // sent at the end
	if p, ok := errors.AsType[*panicError](err); ok {
		event = event.Bytes("stack", p.stack)
	}
	event.Str("hook", call.Hook).Str("handler", l.label).Str("agent", call.Agent).Str("session", call.Session).
		Str("run", call.Run).Bool("closed", closed).Err(err).Msg("hook failed")
	return closed
}

// CanFailClosed reports whether a handler that fails stops something at a point: the work that is to
// begin, or the result of a tool, which is held back.
func CanFailClosed(point string) bool { return before(point) || point == AfterToolCall }

func before(point string) bool { return strings.HasPrefix(point, "before_") }

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// check finds what a caller could not use.
func (o Outcome) check(changeable Changeable) error {
	switch o.Action {
	case "", Continue, Abort:
		return nil
	case Override:
		for name, value := range o.Args {
			if !json.Valid(value) {
				return fmt.Errorf("override %q: not JSON", name)
			}
		}
		return changeable.check(o.Args)
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

// take makes the changes of a handler that count.
func (l *leg) take(from *link, changes Args) {
	changes, refused := l.call.Changeable.split(l.call.Args, changes)
	for _, name := range refused {
		l.log.Warn().Str("hook", l.call.Hook).Str("handler", from.label).Str("agent", l.call.Agent).Str("session", l.call.Session).
			Str("run", l.call.Run).Str("argument", name).Msg("a hook overrides what cannot be changed at this point; it stays as it was")
	}
	if len(changes) > 0 {
		l.acts = append(l.acts, Act{Handler: from.label, At: time.Now(), Action: Override, Args: slices.Sorted(maps.Keys(changes))})
		l.action, l.call.Args = Override, merged(l.call.Args, changes)
	}
}
