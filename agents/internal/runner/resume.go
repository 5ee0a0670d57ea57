package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// Attempts is how often a message may fail its host.
const Attempts = 5

// handed reports whether the last try of a run ended because its host stopped
// in good order, as far as its messages show.
func handed(items []*message.Item) bool {
	blamed := func(it *message.Item) bool { return it.Tried && !it.Handed }
	return len(items) > 0 && !slices.ContainsFunc(items, blamed)
}

// NextTry numbers the try of a run that is to come, whose messages have come again, and says how
// many of those before are not held against it.
func NextTry(left *run.Run, items []*message.Item) (attempt, notBlamed int) {
	attempt, notBlamed = max(left.Attempt, 1)+1, left.Handed
	if handed(items) {
		notBlamed++
	}
	return attempt, notBlamed
}

// Resume goes on with a run that an owner before has begun. It may be what
// ended that owner: then the try is held against it, and the last ones are made
// alone.
func (t *Runner) Resume() (err error) {
	defer t.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	t.runs.Live.Abandon()
	attempt, handed := NextTry(t.Journal.State().Run, t.Items)
	if attempt-handed > Attempts {
		return t.giveUp(ctx)
	}
	limits := t.Profile.Limits()
	dropped := t.Dropped()
	if dropped {
		limits.Window = 0 // no model is asked, so nothing is summed up for one
	}
	effects := t.Journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: t.ID, Inputs: t.Inputs, Attempt: attempt, Handed: handed, Lost: t.Model.Lost(ctx),
	}, limits)
	if dropped {
		_, answer := t.LeaveOut()
		effects = t.instead(effects, *answer)
	}
	return t.perform(ctx, effects)
}

// giveUp ends a run whose input has failed too many hosts: it becomes a dead
// letter, with all that was collected with it, and the person is told.
func (t *Runner) giveUp(ctx context.Context) error {
	if !t.buryInputs(func(in run.Input) (bus.DeadLetter, bool) {
		return t.letter(in, fmt.Sprintf("it failed its host %d times", Attempts), llm.CodeInternal, Attempts), true
	}) {
		return inflight.ErrStopping
	}
	return t.perform(ctx, t.fault(&run.Error{Code: llm.CodeInternal, Message: t.Profile.Texts.Say("message_failed")}))
}

// buryInputs makes dead letters of the inputs, and waits until they are stored. It is
// false when the host stops before.
func (t *Runner) buryInputs(letterOf func(run.Input) (letter bus.DeadLetter, ok bool)) bool {
	letters := 0
	buried := make(chan struct{}, len(t.Inputs))
	for _, in := range t.Inputs {
		if letter, ok := letterOf(in); ok {
			letters++
			t.Agent.Parts.BuryLetter(letter, func() { buried <- struct{}{} })
		}
	}
	for range letters {
		select {
		case <-buried:
		case <-t.Agent.Work.Done():
			return false
		}
	}
	return true
}

// letter is the dead letter of an input.
func (t *Runner) letter(in run.Input, reason string, code llm.Code, attempts int) bus.DeadLetter {
	return t.Agent.Parts.Letter(t.Agent.ID, in, reason, code, attempts)
}
