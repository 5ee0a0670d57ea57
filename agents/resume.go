package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// attempts is how often a message may fail its host.
const attempts = 5

// suspectFrom is the attempt from which a message runs alone, see waitsAlone.
const suspectFrom = 3

// handed reports whether the last try of the run ended because its host stopped
// in good order, as far as its messages tell.
func (t *runner) handed() bool {
	blamed := func(it *item) bool { return it.tried && !it.handed }
	return len(t.items) > 0 && !slices.ContainsFunc(t.items, blamed)
}

// nextTry numbers the try of a run that is to come, and says how many of those before
// are not held against it.
func (t *runner) nextTry(left *run.Run) (attempt, handed int) {
	attempt, handed = max(left.Attempt, 1)+1, left.Handed
	if t.handed() {
		handed++
	}
	return attempt, handed
}

// resume goes on with a run that an owner before has begun. It may be what
// ended that owner: then the try is held against it, and the last ones are made
// alone.
func (t *runner) resume() (err error) {
	defer t.c.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	defer t.c.endTry()
	attempt, handed := t.nextTry(t.journal.State().Run)
	if attempt-handed > attempts {
		return t.giveUp(ctx)
	}
	effects := t.journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: t.id, Inputs: t.inputs, Attempt: attempt, Handed: handed, Lost: t.lost(ctx),
	}, t.p.limits())
	if t.dropped() {
		_, answer := t.leaveOut()
		effects = t.instead(effects, *answer)
	}
	return t.perform(ctx, effects)
}

// giveUp ends a run whose input has failed too many hosts: it becomes a dead
// letter, with all that was collected with it, and the person is told.
func (t *runner) giveUp(ctx context.Context) error {
	if !t.buryInputs(func(in run.Input) (bus.DeadLetter, bool) { return t.c.r.poison(in), true }) {
		return errStopping
	}
	return t.perform(ctx, t.fault(&run.Error{Code: llm.CodeInternal, Message: t.p.texts.Say("message_failed")}, nil))
}

// buryInputs makes dead letters of the inputs, and waits until they are stored. It is
// false when the host stops before.
func (t *runner) buryInputs(letterOf func(run.Input) (letter bus.DeadLetter, ok bool)) bool {
	letters := 0
	buried := make(chan struct{}, len(t.inputs))
	for _, in := range t.inputs {
		if letter, ok := letterOf(in); ok {
			letters++
			t.c.r.parts.buryLetter(letter, func() { buried <- struct{}{} })
		}
	}
	for range letters {
		select {
		case <-buried:
		case <-t.c.r.work.Done():
			return false
		}
	}
	return true
}

// poison is the dead letter of an input that has failed too many hosts.
func (r *Runtime) poison(in run.Input) bus.DeadLetter {
	return r.letter(in, fmt.Sprintf("it failed its host %d times", attempts), llm.CodeInternal, attempts)
}

// letter is the dead letter of an input. Of its headers the log has kept the trace.
func (r *Runtime) letter(in run.Input, reason string, code llm.Code, attempts int) bus.DeadLetter {
	letter := bus.DeadLetter{
		Agent: r.id, Reason: reason, Code: string(code),
		Subject: in.Subject, Stream: streamOf(in.Subject), Seq: in.Seq, Attempts: attempts,
		Host: r.parts.Host, At: time.Now().UTC(), Header: nats.Header{},
	}
	tracing.Context{Parent: in.Trace, State: in.State}.Set(letter.Header)
	r.parts.sign(in, letter.Header)
	letter.SetPayload(in.Envelope, r.parts.room())
	return letter
}

func streamOf(subject string) string {
	if _, _, ok := bus.Channel(subject); ok {
		return bus.InboundStream
	}
	if strings.HasPrefix(subject, bus.DuePrefix) {
		return bus.SchedulesStream
	}
	return bus.RoutesStream
}
