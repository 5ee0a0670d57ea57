package runner

import (
	"errors"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/llm"
	"agenthost/run"
)

// ErrSuspended ends the work on a run that is suspended.
var ErrSuspended = errors.New("run is suspended")

// AskAgain publishes the questions of a suspended run again. One that NATS refuses for good has
// ended the run.
func (t *Runner) AskAgain() (ended bool, err error) {
	ctx, cancel := t.context()
	defer cancel()
	err = t.perform(ctx, t.Journal.Resume(time.Now(), t.Profile.Limits()))
	if errors.Is(err, ErrSuspended) {
		return false, nil
	}
	return err == nil, err
}

// GoOn continues a suspended run with an answer.
func (t *Runner) GoOn(left *run.Run, sig run.Signal) (err error) {
	defer t.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	sig, without := t.Tools.Effective(left, sig)
	if err := t.Tools.Heard(ctx, left, sig); err != nil {
		return err
	}
	sig = t.Tools.AfterWait(ctx, left, sig)
	t.runs.GoesOn()
	t.answeredBy(sig, without)
	effects := t.Journal.Step(sig, t.Profile.Limits())
	if sig.Late && t.Overtime() {
		effects = t.endOvertime(effects)
	}
	return t.perform(ctx, effects)
}

// endOvertime ends a run that has waited until the time was over. What else it waits for
// is settled with it; agents that work for it have the same deadline and end by themselves.
func (t *Runner) endOvertime(effects []run.Effect) []run.Effect {
	for left := t.Journal.State().Run; left != nil; left = t.Journal.State().Run {
		open := left.Open()
		if len(open) == 0 {
			break
		}
		t.Agent.Parts.Asks.Delete(t.WaitID(t.ID, open[0]))
		effects = append(effects, t.Journal.Step(t.Tools.Expired(open[0], nil), t.Profile.Limits())...)
	}
	return append(unstarted(effects), t.fault(&run.Error{Code: llm.CodeRunTimeout, Message: answers.NoResult})...)
}

// answeredBy deletes the wait that an answer has ended, and notifies a sender who gave it by
// another door: without is why it has no effect.
func (t *Runner) answeredBy(sig run.Signal, without error) {
	if left := t.Journal.State().Run; left != nil && sig.Call != "" {
		if call, waits := (answers.Reader{Session: t.Session}).WaitingCall(left, sig.Call); waits {
			t.Agent.Parts.Asks.Delete(t.WaitID(t.ID, call))
		}
	}
	for _, it := range t.Items {
		if it.Interjects() && it.Origin.Route.From != ask.FromDeadline {
			t.Agent.Parts.Tell(it.Origin.Route, without)
		}
	}
}
