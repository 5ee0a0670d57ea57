package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/runner"
	"agenthost/run"
)

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
