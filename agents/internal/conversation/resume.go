package conversation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// attempts is how often a message may fail its host.
const attempts = 5

// suspectFrom is the attempt from which a message runs alone, see waitsAlone.
const suspectFrom = 3

// handed reports whether the last try of a run ended because its host stopped
// in good order, as far as its messages show.
func handed(items []*message.Item) bool {
	blamed := func(it *message.Item) bool { return it.Tried && !it.Handed }
	return len(items) > 0 && !slices.ContainsFunc(items, blamed)
}

// nextTry numbers the try of a run that is to come, whose messages have come again, and says how
// many of those before are not held against it.
func nextTry(left *run.Run, items []*message.Item) (attempt, notBlamed int) {
	attempt, notBlamed = max(left.Attempt, 1)+1, left.Handed
	if handed(items) {
		notBlamed++
	}
	return attempt, notBlamed
}

// resume goes on with a run that an owner before has begun. It may be what
// ended that owner: then the try is held against it, and the last ones are made
// alone.
func (t *runner) resume() (err error) {
	defer t.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	t.runs.live.Abandon()
	attempt, handed := nextTry(t.Journal.State().Run, t.Items)
	if attempt-handed > attempts {
		return t.giveUp(ctx)
	}
	effects := t.Journal.Step(run.Signal{
		Kind: run.Submit, At: time.Now(), Run: t.ID, Inputs: t.Inputs, Attempt: attempt, Handed: handed, Lost: t.model.Lost(ctx),
	}, t.Profile.Limits())
	if t.Dropped() {
		_, answer := t.LeaveOut()
		effects = t.instead(effects, *answer)
	}
	return t.perform(ctx, effects)
}

// giveUp ends a run whose input has failed too many hosts: it becomes a dead
// letter, with all that was collected with it, and the person is told.
func (t *runner) giveUp(ctx context.Context) error {
	if !t.buryInputs(func(in run.Input) (bus.DeadLetter, bool) {
		return t.letter(in, fmt.Sprintf("it failed its host %d times", attempts), llm.CodeInternal, attempts), true
	}) {
		return errStopping
	}
	return t.perform(ctx, t.fault(&run.Error{Code: llm.CodeInternal, Message: t.Profile.Texts.Say("message_failed")}))
}

// buryInputs makes dead letters of the inputs, and waits until they are stored. It is
// false when the host stops before.
func (t *runner) buryInputs(letterOf func(run.Input) (letter bus.DeadLetter, ok bool)) bool {
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
func (t *runner) letter(in run.Input, reason string, code llm.Code, attempts int) bus.DeadLetter {
	return t.Agent.Parts.Letter(t.Agent.ID, in, reason, code, attempts)
}

// waitsAlone reports whether the run that an owner before has left waits until other
// suspects have had their try; then c is scheduled again when it may go on. The
// suspects of an agent wait for each other, and of all agents those that have one
// try left: so what brings hosts down takes no other message of any agent with it
// to the end, and yet delays no other agent's.
func (c *Conversation) waitsAlone(left *run.Run) bool {
	failures := c.failures(left)
	if failures < suspectFrom-1 || failures >= attempts {
		return false
	}
	begin := func(waited time.Duration) {
		if !c.shared.Yields() {
			c.Few().Info().Dur("waited", waited).Msg("resume suspected run: its turn has come")
		}
		c.shared.Schedule(c)
	}
	c.tried = true
	waits := !c.shared.Suspects.Enter(c, begin) || failures == attempts-1 && !c.Agent.Parts.LastTries.Enter(c, begin)
	switch {
	case !waits:
	case c.shared.Yields(): // it may have come too late to be dismissed
		c.shared.DismissSuspects()
	default:
		c.Few().Warn().Int("failures", failures).
			Msg("resume suspected run: it may have ended its host, and waits until others of which that is true have had their try")
	}
	return waits
}

// failures is how many tries of the run in the log have failed their host.
func (c *Conversation) failures(left *run.Run) int {
	var items []*message.Item
	c.mu.Lock()
	for _, it := range c.Queue {
		if it.Again() && slices.ContainsFunc(left.Inputs, func(in run.Input) bool { return in.ID == it.Input.ID }) {
			items = append(items, it)
		}
	}
	c.mu.Unlock()
	attempt, handed := nextTry(left, items)
	return attempt - handed - 1
}

// endTry lets other suspects have theirs, if this one has waited for its own.
func (c *Conversation) endTry() {
	if !c.tried {
		return
	}
	c.tried = false
	c.Agent.Parts.LastTries.Leave(c)
	c.shared.Suspects.Leave(c)
}
