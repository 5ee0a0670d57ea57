package runner

import (
	"context"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/run"
)

// A run is stopped in two steps. The first order has the model and the tools end, and
// waits until they have: what they still did is in the log. A second order ends the run at
// once; so does abortGrace, for a tool that does not listen.

// abortGrace is how long what is under way may take to end.
const abortGrace = 10 * time.Second

// A stopping is an order to stop a run that waits for what is under way.
type stopping struct {
	sig   run.Signal
	force *time.Timer
}

// beginAbort has what is under way end. Without any, the run ends now.
func (t *Runner) beginAbort(sig run.Signal) []run.Effect {
	if t.underway == 0 {
		return t.Journal.Step(sig, t.Profile.Limits())
	}
	ended := make(chan struct{})
	t.ended.Store(&ended)
	t.stopping = &stopping{sig: sig, force: time.NewTimer(abortGrace)}
	t.cancel()
	t.runs.Poke() // one nudge may stand for two orders
	return nil
}

// endAbort lets go of what still runs.
func (t *Runner) endAbort() {
	if t.stopping != nil {
		t.stopping.force.Stop()
		close(*t.ended.Load())
	}
}

// nextOfAbort waits for what is under way, or for a reason not to.
func (t *Runner) nextOfAbort() ([]run.Effect, error) {
	select {
	case sig := <-t.signals:
		t.underway--
		if t.Agent.Work.Err() != nil {
			return nil, inflight.ErrStopping
		}
		return t.settleAbort(sig), nil
	case <-t.runs.Nudge:
		if err := t.Journal.Err(); err != nil { // of a commit beside the run
			return nil, err
		}
		it := t.runs.TakeAbort(t.Journal)
		if it == nil {
			return nil, nil
		}
		if it.Stops() {
			t.Forced = append(t.Forced, it.Input.OwnID())
		}
		t.Log().Info().Str("run", t.ID).Msg("stop run: forced by a second order")
	case <-t.stopping.force.C:
		t.Log().Warn().Str("run", t.ID).Dur("waited", abortGrace).Msg("stop run: a tool or the model does not end; the run ends without it")
	case <-t.Agent.Work.Done():
		return nil, inflight.ErrStopping
	}
	return t.Journal.Step(t.stopping.sig, t.Profile.Limits()), nil
}

// settleAbort takes what came of something that was under way. Nothing new begins; after
// the last of them the run ends.
func (t *Runner) settleAbort(sig run.Signal) (effects []run.Effect) {
	switch {
	case sig.Kind == run.ToolSettled && sig.Wait == nil:
		effects = unstarted(t.Journal.Step(sig, t.Profile.Limits()))
	case sig.Kind != run.ToolSettled: // the model's, with what it has cost
		t.stopping.sig.Called, t.stopping.sig.Message = sig.Called, sig.Message
	}
	if t.underway > 0 || t.Journal.State().Run == nil {
		return effects
	}
	return append(effects, t.Journal.Step(t.stopping.sig, t.Profile.Limits())...)
}

// unstarted are effects without those that begin something.
func unstarted(effects []run.Effect) (list []run.Effect) {
	for _, e := range effects {
		if !isWork(e) && e.Kind != run.RunTool {
			list = append(list, e)
		}
	}
	return list
}

// uncancelled is ctx for the hooks that see a result: that of a tool which ended because
// the run is stopped goes to the log as well.
func (t *Runner) uncancelled(ctx context.Context) context.Context {
	if t.ended.Load() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}
