package message

import (
	"cmp"
	"time"

	"agenthost/agents"
	"agenthost/session"
)

// Age says how old a message was when this host first got it, by the time at
// which the stream took it: clocks of senders are theirs. One that was in time
// then does not become stale in the queue.
func (it *Item) Age(stored time.Time) {
	if it.Binding == nil || it.Binding.Stale.After <= 0 || it.Origin.Inbound.Answers != "" || it.Changes() {
		return
	}
	if way := it.Binding.Stale.Do; way == agents.StaleDrop || way == agents.StaleSummarise {
		if time.Since(stored) > it.Binding.Stale.After {
			it.Stale = stored
		}
	}
}

// Drops reports whether it is not answered, as it came while no host served the agent.
func (it *Item) Drops() bool { return !it.Stale.IsZero() && it.Binding.Stale.Do == agents.StaleDrop }

// Alike reports whether two inputs are of the same backlog, or both of none, and one answer
// reaches who sent them.
func (it *Item) Alike(other *Item) bool {
	return it.Binding == other.Binding && it.Stale.IsZero() == other.Stale.IsZero() && it.Origin.SharesAnswer(other.Origin)
}

// DebounceMax is how long the first of what is collected waits at most; 0: there is no
// bound, as for a backlog, which is there already.
func (it *Item) DebounceMax(s session.Config) time.Duration {
	if !it.Stale.IsZero() || it.Binding == nil {
		return 0
	}
	if it.Binding.Debounce > 0 {
		return cmp.Or(it.Binding.DebounceMax, 5*it.Binding.Debounce)
	}
	return cmp.Or(it.Binding.DebounceMax, s.DebounceMax, 5*s.Debounce)
}
