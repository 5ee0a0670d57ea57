package conversation

import (
	"sync"
	"sync/atomic"

	"agenthost/agents/internal/gate"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/parts"
	"agenthost/session"
)

// Shared is what the conversations of an agent, or of one of its partitions, have in common.
type Shared struct {
	Agent  *inflight.Agent
	Intake *intake.Intake
	// Suspects lets suspected runs in one at a time. A run that waits holds neither a
	// goroutine nor a slot. The partitions of an agent have one gate.
	Suspects *gate.Gate[parts.Suspect]
	Scheduler

	Busy     sync.WaitGroup // conversations with something to do
	Ends     sync.WaitGroup // hooks of the ends of sessions and runs
	Queued   atomic.Int64   // messages held
	Owners   atomic.Uint64  // how often the lane has come from another host
	Stopping atomic.Bool
	Yielding atomic.Bool   // the lane goes to another host
	Retired  chan struct{} // closed when the agent is removed from the configuration

	handled handled
}

// A Scheduler decides when conversations work.
type Scheduler interface {
	// Schedule has c work when there is a slot for it.
	Schedule(c *Conversation)
	// AfterInbox calls then once all that was offered by now, of messages of a session up to a
	// sequence, is queued with the conversation, unless the agent stops before that.
	AfterInbox(key session.Key, upTo uint64, then func())
}

// Yields reports whether nothing is to begin.
func (s *Shared) Yields() bool { return s.Stopping.Load() || s.Yielding.Load() }

// IsRetired reports whether the agent was removed from the configuration.
func (s *Shared) IsRetired() bool {
	select {
	case <-s.Retired:
		return true
	default:
		return false
	}
}

// Of reports whether the conversation is one of those that share s.
func (c *Conversation) Of(s *Shared) bool { return c.shared == s }

// Yields reports whether it is to begin nothing.
func (c *Conversation) Yields() bool { return c.shared.Yields() }

// DismissSuspects has the runs that wait begin now: the agent is stopping, and they only
// give up what they hold.
func (s *Shared) DismissSuspects() {
	s.Suspects.Release(s.holds)
	s.Agent.Parts.LastTries.Release(s.holds)
}

// SuspectsWaiting is how many runs wait to be tried again.
func (s *Shared) SuspectsWaiting() int {
	return s.Suspects.Waiting(s.holds) + s.Agent.Parts.LastTries.Waiting(s.holds)
}

// holds reports whether a conversation is of this agent, or of this partition of it.
func (s *Shared) holds(suspect parts.Suspect) bool {
	c, ok := suspect.(*Conversation)
	return ok && c.Of(s)
}
