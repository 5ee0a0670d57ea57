package agents

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/crash"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/stream"
	"agenthost/agents/internal/tracing"
	"agenthost/bus/publishing"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// A runner is one run in progress: it performs the effects of the machine.
type runner struct {
	c       *conversation
	p       *profile // of the turn; changes only while nothing is under way
	journal *session.Log
	id      string
	items   []*item     // those whose messages are held
	inputs  []run.Input // all that the run answers
	trace   tracing.Context
	replies []*run.Reply // published so far, for the hooks

	overdraft  bool // the run may go beyond its budget, as its session may
	toldExcess bool // that it would have was told

	round    *round          // of the calls that begin together
	signals  chan run.Signal // of what is under way beside: the model, tools
	underway int
	cancel   context.CancelFunc            // ends what is under way
	stopping *stopping                     // nil: it is not to be stopped
	ended    atomic.Pointer[chan struct{}] // closed when a run that is being stopped has ended; nil: it is not

	speech atomic.Pointer[stream.Writer] // of the last call of the model

	watch watch // of the queue, for what is meant for this run

	mu        sync.Mutex        // of what tools under way read and write, items and inputs included
	fallbacks map[string]string // by call: the answer when nobody gives one
	entry     string            // of the model that is asked
}

func (c *conversation) newRunner(journal *session.Log, id string, items []*item) *runner {
	t := &runner{c: c, journal: journal, id: id, items: items, signals: make(chan run.Signal)}
	inputs := make([]run.Input, len(items))
	for i, it := range items {
		inputs[i] = it.input
	}
	t.answerTo(inputs)
	return t
}

// answerTo makes the run one that answers inputs, in the trace of the last.
func (t *runner) answerTo(inputs []run.Input) {
	t.inputs, t.trace = inputs, tracing.Of(inputs)
	t.p = t.profile()
}

// takes reports whether the run answers the input with that id.
func (t *runner) takes(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.inputs, func(in run.Input) bool { return in.ID == id })
}

// profile is what the next turn goes by. All inputs of a run came by the same
// binding, if by any.
func (t *runner) profile() *profile {
	p := t.c.r.now()
	if len(t.inputs) == 0 {
		return p
	}
	return p.by(t.inputs[0].Subject)
}

// start runs new inputs.
func (t *runner) start() (err error) {
	defer t.c.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	msg, then := t.receive(ctx)
	if then == nil {
		then = t.received(ctx, &msg)
	}
	if t.c.r.work.Err() != nil {
		return errStopping
	}
	attempt, handed, lost := 0, 0, int64(0)
	if slices.ContainsFunc(t.items, func(it *item) bool { return it.tried }) {
		attempt = 2 // whoever tried first did not count
		if t.handed() {
			handed = 1
		}
		lost = t.lost(ctx)
	}
	return t.perform(ctx, t.journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: t.id, Trigger: t.items[0].origin.trigger(),
		Inputs: t.inputs, Attempt: attempt, Handed: handed, Lost: lost, Message: &msg, Then: then,
	}, t.p.limits()))
}

// instead goes on with sig in place of the work that the run begins with.
func (t *runner) instead(effects []run.Effect, sig run.Signal) []run.Effect {
	return append(slices.DeleteFunc(effects, isWork), t.journal.Step(sig, t.p.limits())...)
}

func isWork(e run.Effect) bool { return e.Kind == run.InvokeModel || e.Kind == run.Compact }

// context bounds the run in time, by its own limit and by the deadline of who
// has asked for it; it also ends when the host has no more.
func (t *runner) context() (context.Context, context.CancelFunc) {
	end := time.Now().Add(t.p.cfg.Limits.RunTimeout)
	if o, err := t.origin(); err == nil && o.route != nil && !o.route.Deadline.IsZero() && o.route.Deadline.Before(end) {
		end = o.route.Deadline
	}
	ctx, cancel := context.WithDeadline(t.c.r.work, end)
	t.cancel = cancel
	return ctx, cancel
}

// perform performs effects, and waits for what they lead to, until the run has
// ended. What it returns is why it could not. The caller ends ctx then: nobody
// hears any more what is under way.
func (t *runner) perform(ctx context.Context, effects []run.Effect) error {
	t.c.setCurrent(t)
	defer t.c.leaveCurrent(t)
	defer t.endAbort()
	for {
		t.round = t.newRound(effects)
		for i, e := range effects {
			ended, err := t.effect(ctx, e)
			if ended || err != nil {
				return err
			}
			effects[i] = run.Effect{}
		}
		if t.underway == 0 {
			if t.journal.State().Phase == run.InSuspense {
				return errSuspended
			}
			return errors.New("run stands still: nothing is under way and it has not ended")
		}
		var err error
		if effects, err = t.next(ctx); err != nil {
			return err
		}
	}
}

// next waits for something to happen and gives it to the machine.
func (t *runner) next(ctx context.Context) ([]run.Effect, error) {
	if t.stopping != nil {
		return t.nextOfAbort()
	}
	select {
	case sig := <-t.signals:
		t.underway--
		if t.c.r.work.Err() != nil {
			return nil, errStopping
		}
		if sig.Kind == run.Abort { // by a hook, while other calls may wait for somebody
			if err := t.heard(ctx, t.journal.State().Run, sig); err != nil {
				return nil, err
			}
		}
		return t.journal.Step(sig, t.p.limits()), nil
	case <-t.c.nudge:
		if err := t.journal.Err(); err != nil { // of a commit beside the run
			return nil, err
		}
		return t.interject(ctx)
	case <-ctx.Done():
		if t.c.r.work.Err() != nil {
			return nil, errStopping
		}
		return t.fault(&run.Error{Code: llm.CodeRunTimeout}, nil), nil
	}
}

// effect performs one effect. ended tells that it was the last commit.
func (t *runner) effect(ctx context.Context, e run.Effect) (ended bool, err error) {
	switch e.Kind {
	case run.Commit:
		if e.Events[len(e.Events)-1].Type == run.Finished {
			return true, t.finish(e.Events)
		}
		return false, t.commit(e.Events)
	case run.Publish:
		t.replies = append(t.replies, e.Reply)
		t.c.send(&outbox.Batch{Replies: []*run.Reply{e.Reply}, Trace: t.trace, End: func(bool) {}})
	case run.InvokeModel:
		t.p = t.profile()
		out := t.newStream()
		t.beside(ctx, func() run.Signal { return t.invoke(ctx, e, out) })
	case run.Compact:
		t.p = t.profile()
		t.beside(ctx, func() run.Signal { return t.compact(ctx, e) })
	case run.RunTool:
		call := t.round.next()
		t.besideThen(ctx, func() run.Signal { return call.ask(ctx, t.use(ctx, *e.Call, call)) }, call.done)
	case run.Ask:
		return false, t.ask(ctx, *e.Call)
	case run.Ignored:
		t.c.log().Debug().Str("run", t.id).Str("why", e.Why).Msg("signal ignored")
	}
	return false, nil
}

// beside does something that takes time; what comes of it is a signal.
func (t *runner) beside(ctx context.Context, do func() run.Signal) { t.besideThen(ctx, do, func() {}) }

// besideThen is beside with something to do once the machine has the signal.
func (t *runner) besideThen(ctx context.Context, do func() run.Signal, then func()) {
	t.underway++
	t.c.r.parts.workers.Do(func() {
		defer then()
		sig := t.guarded(do)
		sig.At, sig.Run = time.Now(), t.id
		select {
		case t.signals <- sig:
		case <-ctx.Done():
			t.deliverLate(sig)
		}
	})
}

// deliverLate delivers the signal of what was cancelled, if the run waits for it.
func (t *runner) deliverLate(sig run.Signal) {
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
func (t *runner) guarded(do func() run.Signal) (sig run.Signal) {
	defer func() {
		if p := recover(); p != nil {
			t.c.log().Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("run", t.id).Msg("panic in a run")
			sig = run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}
		}
	}()
	return do()
}

// commit writes events in the middle of a run and waits until they are stored.
func (t *runner) commit(events []run.Event) error {
	if err := t.addressAll(events); err != nil {
		return err
	}
	stored := make(chan error, 1)
	t.journal.Commit(t.c.r.work, t.id, events, func(err error) { stored <- err })
	crash.Point("in-commit")
	select {
	case err := <-stored:
		crash.Point("after-step")
		return err
	case <-t.c.r.work.Done():
		return errStopping
	}
}

// finish writes the last commit of the run. The rest happens when it is stored:
// the replies, the acks, the next run. Until then the conversation stays
// running, but needs no slot.
func (t *runner) finish(events []run.Event) error {
	if err := t.addressAll(events); err != nil {
		return err
	}
	var last []*run.Reply
	for i := range events {
		e := &events[i]
		if e.Type == run.Replied {
			last = append(last, e.Reply)
		}
		if e.Type == run.Finished && e.Error != nil {
			t.failed(*e.Error)
		}
	}
	t.replies = slices.Concat(t.replies, last)
	crash.Point("before-commit")
	t.journal.Commit(t.c.r.work, t.id, events, func(err error) { t.finished(last, err) })
	return nil
}

// finished goes on once the last commit is settled. It must not block.
func (t *runner) finished(last []*run.Reply, err error) {
	crash.Point("after-commit")
	switch {
	case errors.Is(err, publishing.ErrClosed):
		leaveAll(deliveriesOf(t.items))
		t.c.leave()
		return
	case err != nil:
		t.c.brokeOff(t.items, err)
		return
	}
	// An input that only the log stands for would not bring anybody back to a
	// reply that was lost: then nothing else happens here before it is stored.
	wait := delivered(t.items) < len(t.inputs)
	t.c.send(&outbox.Batch{Replies: last, Trace: t.trace, End: func(stored bool) {
		t.published(stored)
		if wait {
			t.c.proceed()
		}
	}})
	if !wait {
		t.c.proceed()
	}
}

// published goes on once the replies are stored.
func (t *runner) published(stored bool) {
	deliveries := deliveriesOf(t.items)
	if !stored {
		leaveAll(deliveries)
		return
	}
	crash.Point("before-ack")
	t.c.settle(deliveries)
	if t.c.hooked(hooks.AfterMessage) {
		t.c.r.ends.Go(t.farewell)
	}
}

// fault ends the run with an error.
func (t *runner) fault(e *run.Error, called []run.Event) []run.Effect {
	return t.journal.Step(run.Signal{Kind: run.Fault, At: time.Now(), Run: t.id, Error: e, Called: called}, t.p.limits())
}

// failed logs and tells the hooks why the run failed.
func (t *runner) failed(e run.Error) {
	t.c.log().Warn().Str("run", t.id).Str("code", string(e.Code)).Msg("run failed")
	if t.c.hooked(hooks.OnError) {
		t.c.r.fire(hooks.OnError, t.c.key, t.id, hooks.Args{"code": quoted(string(e.Code)), "message": quoted(e.Message)})
	}
}
