package conversation

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/runner"
	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/run"
	"agenthost/session"
)

// brokeOff goes on after a commit of a run that was not stored. The fence has
// refused it where another host has written to the session: what the lanes have brought
// that that host serves now is its business. With the rest this host opens the
// log again and goes on from what it says, in place, so that nothing newer
// overtakes the run; each try is counted.
func (c *Conversation) brokeOff(items []*message.Item, err error) {
	if errors.Is(err, session.ErrFenced) {
		c.Log().Warn().Msg("commit: another host has written to this session; opening its log again")
		c.again(items, true)
		return
	}
	if errors.Is(err, runner.ErrErased) {
		c.Log().Info().Msg("run stopped: what it works on is of a person who is erased")
		c.again(items, false)
		return
	}
	if !errors.Is(err, publishing.ErrClosed) {
		c.Log().Error().Err(err).Msg("run broke off; trying again from its log")
	}
	c.again(items, false)
}

// brokeBeside goes on after a commit beside the run was not stored: the log has
// to be opened again. A run at work finds that out at once.
func (c *Conversation) brokeBeside(err error) {
	c.mu.Lock()
	atWork := c.running
	c.running = true
	c.mu.Unlock()
	if atWork {
		c.runs.Poke()
		return
	}
	c.brokeOff(nil, err)
}

// again starts over with items, from the log. Where another host has written to the
// session, without what is not this host's any more.
func (c *Conversation) again(items []*message.Item, fenced bool) {
	c.mu.Lock()
	c.forget(items...)
	c.last = nil // it takes nothing: its items wait again, and nothing that came later may pass them
	gone := c.takeErased()
	for _, it := range c.Queue {
		it.Tried, it.Handed = true, false
	}
	c.fences++
	wait := min(50*time.Millisecond<<min(c.fences, 6), 2*time.Second)
	c.mu.Unlock()
	endAll(gone)
	time.AfterFunc(wait, func() {
		if fenced {
			c.askLanes()
			if c.leaveLost() {
				return
			}
		}
		c.shared.Schedule(c)
	})
}

// askLanes asks whether this host still serves the lanes that have brought what is held
// here. They keep the answer. Not to know counts as that: the fence decides again.
func (c *Conversation) askLanes() {
	c.mu.Lock()
	var lanes []*delivery.Lane
	for _, d := range c.deliveries() {
		if !slices.Contains(lanes, d.Lane()) {
			lanes = append(lanes, d.Lane())
		}
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.Agent.Work, 5*time.Second)
	defer cancel()
	for _, lane := range lanes {
		_, _ = lane.Owns(ctx)
	}
}

// deliveries are those of what is not begun. Called with the lock held.
func (c *Conversation) deliveries() []*delivery.Delivery {
	list := message.DeliveriesOf(append(slices.Clone(c.Queue), c.refusals...))
	if c.anchor != nil {
		list = append(list, c.anchor)
	}
	return list
}

// noteTried notes of what is held here and is in the log already that another owner has had
// it, who may have died before it was done with it: the lane has been elsewhere since.
// Called with the lock held.
func (c *Conversation) noteTried(journal *session.Log) {
	for _, it := range c.Queue {
		it.Tried = it.Tried || it.Delivery != nil && known(journal, it)
	}
}

// suspectFrom is the attempt from which a message runs alone, see waitsAlone.
const suspectFrom = 3

// waitsAlone reports whether the run that an owner before has left waits until other
// suspects have had their try; then c is scheduled again when it may go on. The
// suspects of an agent wait for each other, and of all agents those that have one
// try left: so what brings hosts down takes no other message of any agent with it
// to the end, and yet delays no other agent's.
func (c *Conversation) waitsAlone(left *run.Run) bool {
	failures := c.failures(left)
	if failures < suspectFrom-1 || failures >= runner.Attempts {
		return false
	}
	begin := func(waited time.Duration) {
		if !c.shared.Yields() {
			c.Few().Info().Dur("waited", waited).Msg("resume suspected run: its turn has come")
		}
		c.shared.Schedule(c)
	}
	c.tried = true
	waits := !c.shared.Suspects.Enter(c, begin) || failures == runner.Attempts-1 && !c.Agent.Parts.LastTries.Enter(c, begin)
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
	attempt, handed := runner.NextTry(left, items)
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
