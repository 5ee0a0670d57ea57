package engine

import (
	"slices"
	"time"

	"agenthost/agents/internal/gate"
	"agenthost/agents/internal/parts"
	"agenthost/run"
)

// A suspectGate lets suspected runs in one at a time. A run that waits holds neither a
// goroutine nor a slot.
type suspectGate = gate.Gate[parts.Suspect]

// waitsAlone reports whether the run that an owner before has left waits until other
// suspects have had their try; then c is scheduled again when it may go on. The
// suspects of an agent wait for each other, and of all agents those that have one
// try left: so what brings hosts down takes no other message of any agent with it
// to the end, and yet delays no other agent's.
func (c *conversation) waitsAlone(left *run.Run) bool {
	failures := c.failures(left)
	if failures < suspectFrom-1 || failures >= attempts {
		return false
	}
	begin := func(waited time.Duration) {
		if !c.r.yields() {
			c.Few().Info().Dur("waited", waited).Msg("resume suspected run: its turn has come")
		}
		c.r.schedule(c)
	}
	waits := !c.r.suspects.Enter(c, begin) || failures == attempts-1 && !c.r.parts.LastTries.Enter(c, begin)
	switch {
	case !waits:
	case c.r.yields(): // it may have come too late to be dismissed
		c.r.dismissSuspects()
	default:
		c.Few().Warn().Int("failures", failures).
			Msg("resume suspected run: it may have ended its host, and waits until others of which that is true have had their try")
	}
	return waits
}

// failures is how many tries of the run in the log have failed their host.
func (c *conversation) failures(left *run.Run) int {
	t := runner{}
	c.mu.Lock()
	for _, it := range c.Queue {
		if it.Again() && slices.ContainsFunc(left.Inputs, func(in run.Input) bool { return in.ID == it.Input.ID }) {
			t.Items = append(t.Items, it)
		}
	}
	c.mu.Unlock()
	attempt, handed := t.nextTry(left)
	return attempt - handed - 1
}

// endTry lets other suspects have theirs.
func (c *conversation) endTry() {
	c.r.parts.LastTries.Leave(c)
	c.r.suspects.Leave(c)
}

// dismissSuspects has the runs that wait begin now: the agent is stopping, and they only
// give up what they hold.
func (r *Runtime) dismissSuspects() {
	r.suspects.Release(r.holds)
	r.parts.LastTries.Release(r.holds)
}

// suspectsWaiting is how many runs wait to be tried again.
func (r *Runtime) suspectsWaiting() int {
	return r.suspects.Waiting(r.holds) + r.parts.LastTries.Waiting(r.holds)
}

// holds reports whether a conversation is of this agent, or of this partition of it.
func (r *Runtime) holds(suspect parts.Suspect) bool {
	c, ok := suspect.(*conversation)
	return ok && c.r == r
}
