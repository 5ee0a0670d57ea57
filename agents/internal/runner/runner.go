package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/modelcall"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/toolcall"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// A Runner is one run in progress: it performs the effects of the machine.
type Runner struct {
	inflight.Run
	runs    *Runs
	replies []*run.Reply // published so far, for the hooks

	Model modelcall.Caller
	Tools toolcall.Caller

	round    *toolcall.Round // of the calls that begin together
	signals  chan run.Signal // of calls under way: the model, tools
	underway int
	cancel   context.CancelFunc            // ends the calls under way
	stopping *stopping                     // nil: it is not to be stopped
	ended    atomic.Pointer[chan struct{}] // closed when a run that is being stopped has ended; nil: the run is not being stopped

	Stored atomic.Bool // nothing of it is on its way to a stream any more, but for what its session has to send
}

// ErrErased ends the work on what is to be forgotten.
var ErrErased = errors.New("its input is of a person who is erased")

// Start runs new inputs.
func (t *Runner) Start() (err error) {
	defer t.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	msg, then := t.receive(ctx)
	if then == nil {
		then = behaviors.Received(ctx, &t.Run, &msg)
	}
	if t.Agent.Work.Err() != nil {
		return inflight.ErrStopping
	}
	attempt, notBlamed, lost := 0, 0, int64(0)
	if slices.ContainsFunc(t.Items, func(it *message.Item) bool { return it.Tried }) {
		attempt = 2 // the first try was not counted
		if handed(t.Items) {
			notBlamed = 1
		}
		lost = t.Model.Lost(ctx)
	}
	return t.perform(ctx, t.Journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: t.ID, Trigger: t.Items[0].Origin.Trigger(),
		Inputs: t.Inputs, Attempt: attempt, Handed: notBlamed, Lost: lost, Message: &msg, Then: then,
		History: t.Items[0].Origin.History(),
	}, t.Profile.Limits()))
}

// instead goes on with sig in place of the work that the run begins with.
func (t *Runner) instead(effects []run.Effect, sig run.Signal) []run.Effect {
	return append(slices.DeleteFunc(effects, isWork), t.Journal.Step(sig, t.Profile.Limits())...)
}

func isWork(e run.Effect) bool { return e.Kind == run.InvokeModel || e.Kind == run.Compact }

// context bounds the run in time, by its own limit and by the deadline of who
// has asked for it; it also ends when the host has no more.
func (t *Runner) context() (context.Context, context.CancelFunc) {
	end := time.Now().Add(t.Profile.Config.Limits.RunTimeout)
	ctx, cancel := context.WithDeadline(t.Agent.Work, inflight.Earlier(end, t.Deadline()))
	t.cancel = cancel
	return ctx, cancel
}

// perform performs effects, and waits for what they lead to, until the run has
// ended. The error is why it could not. The caller ends ctx then: calls under
// way have no receiver any more.
func (t *Runner) perform(ctx context.Context, effects []run.Effect) error {
	t.runs.Enter(t)
	defer t.runs.Leave(t)
	defer t.endAbort()
	if t.WorksOnErased() { // since it was taken off the queue
		t.Journal.Break(ErrErased)
		return ErrErased
	}
	for {
		var refused []run.Effect
		t.round = t.Tools.NewRound(effects)
		for i, e := range effects {
			ended, err := t.effect(ctx, e)
			if e.Kind == run.Ask && bus.Permanent(err) {
				refused = t.endUnasked(effects[i+1:], err)
				break
			}
			if ended || err != nil {
				return err
			}
			effects[i] = run.Effect{}
		}
		if refused != nil {
			effects = refused
			continue
		}
		if t.underway == 0 {
			if t.Journal.State().Phase == run.InSuspense {
				return ErrSuspended
			}
			return errors.New("run stands still: nothing is under way and it has not ended")
		}
		var err error
		if effects, err = t.next(ctx); err != nil {
			return err
		}
	}
}

// endUnasked ends the run, as NATS refuses for good what it asks: the log has it, and would have
// it asked again for ever. rest is what was still to be done.
func (t *Runner) endUnasked(rest []run.Effect, err error) []run.Effect {
	t.Log().Error().Err(err).Str("run", t.ID).Msg("ask: NATS refuses the question for good; the run ends")
	t.Tools.Release(t.Journal.State().Run)
	t.runs.GoesOn() // it waits for nothing any more: what waited behind it is next
	rest = slices.DeleteFunc(unstarted(rest), func(e run.Effect) bool { return e.Kind == run.Ask })
	return append(rest, t.fault(&run.Error{Code: llm.CodeInternal})...)
}

// next waits for something to happen and gives it to the machine.
func (t *Runner) next(ctx context.Context) ([]run.Effect, error) {
	if t.stopping != nil {
		return t.nextOfAbort()
	}
	select {
	case <-t.runs.Nudge: // messages go before signals of calls, and not by chance
		return t.interject(ctx)
	default:
	}
	select {
	case sig := <-t.signals:
		t.underway--
		if t.Agent.Work.Err() != nil {
			return nil, inflight.ErrStopping
		}
		if sig.Kind == run.Abort || sig.Kind == run.Fault { // by a hook, say, while other calls may wait for a person
			t.Tools.Release(t.Journal.State().Run)
		}
		return t.Journal.Step(sig, t.Profile.Limits()), nil
	case <-t.runs.Nudge:
		return t.interject(ctx)
	case <-ctx.Done():
		if t.Agent.Work.Err() != nil {
			return nil, inflight.ErrStopping
		}
		t.Tools.Release(t.Journal.State().Run)
		return t.fault(&run.Error{Code: llm.CodeRunTimeout}), nil
	}
}

// effect performs one effect. ended reports whether it was the last commit.
func (t *Runner) effect(ctx context.Context, e run.Effect) (ended bool, err error) {
	switch e.Kind {
	case run.Commit:
		if e.Events[len(e.Events)-1].Type == run.Finished {
			return true, t.finish(e.Events)
		}
		return false, t.commit(e.Events)
	case run.Publish:
		t.replies = append(t.replies, e.Reply)
		t.runs.Out.Send(&outbox.Batch{Replies: []*run.Reply{e.Reply}, Trace: t.Trace, End: func(bool) {}})
	case run.InvokeModel:
		t.Refresh()
		out := t.Model.NewStream()
		t.beside(ctx, func() run.Signal { return t.Model.Invoke(ctx, e, out) })
	case run.Compact:
		t.Refresh()
		t.beside(ctx, func() run.Signal { return t.Model.Compact(ctx, e) })
	case run.RunTool:
		call := t.round.Next()
		t.besideThen(ctx, func() run.Signal { return call.Ask(ctx, t.Tools.Use(ctx, *e.Call, call)) }, call.Done)
	case run.Ask: // also when the time of the run is over: what it waits for is how it learns of that
		return false, t.Tools.Ask(t.Agent.Work, *e.Call)
	case run.Ignored:
		t.Log().Debug().Str("run", t.ID).Str("why", e.Why).Msg("signal ignored")
	}
	return false, nil
}

// beside does something that takes time and gives its result to the run as a signal.
func (t *Runner) beside(ctx context.Context, do func() run.Signal) { t.besideThen(ctx, do, func() {}) }

// besideThen is beside with something to do once the machine has the signal.
func (t *Runner) besideThen(ctx context.Context, do func() run.Signal, then func()) {
	t.underway++
	t.Agent.Parts.Workers.Do(func() {
		defer then()
		sig := t.guarded(do)
		sig.At, sig.Run = time.Now(), t.ID
		select {
		case t.signals <- sig:
		case <-ctx.Done():
			t.deliverLate(sig)
		}
	})
}

// deliverLate delivers the signal of what was cancelled, if the run waits for it.
func (t *Runner) deliverLate(sig run.Signal) {
	ended := t.ended.Load()
	if ended == nil {
		return
	}
	select {
	case t.signals <- sig:
	case <-*ended:
	}
}

// guarded turns a panic into a fault of the run.
func (t *Runner) guarded(do func() run.Signal) (sig run.Signal) {
	defer func() {
		if p := recover(); p != nil {
			t.Log().Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("run", t.ID).Msg("panic in a run")
			sig = run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}
		}
	}()
	return do()
}

// guard turns a panic of the run into an error, with its stack logged.
func (t *Runner) guard(err *error) {
	if p := recover(); p != nil {
		t.Log().Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in a run")
		*err = fmt.Errorf("panic: %v", p)
	}
}
