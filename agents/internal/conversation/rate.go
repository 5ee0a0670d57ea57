package conversation

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// The rate of a sender judges a message once its session knows what the message is: one that
// answers what is open in its chat does not count.

// withinRate reports whether the rate of its sender lets an input go on, which may have to wait
// for its turn then. What it does not let go on is answered, and belongs in no queue any more.
// Called with the lock held.
func (c *Conversation) withinRate(it *message.Item) bool {
	return it.Unrated.IsZero() || c.shared.Intake.WithinRate(it)
}

// turnsAway takes an input off the queue that the rate of its sender does not let go on, and
// reports whether it did. It answers nothing of this session; whether anything elsewhere may
// have to be found out first. Called with the lock held.
func (c *Conversation) turnsAway(it *message.Item) bool {
	if it.Unrated.IsZero() || !slices.Contains(c.Queue, it) || c.mayAnswer(it) || c.withinRate(it) {
		return false
	}
	c.takeOut(it)
	return true
}

// mayAnswerHere reports whether something of this session is open that an input may be the
// answer to. Called with the lock held.
func (c *Conversation) mayAnswerHere(journal *session.Log) bool {
	if c.suspended || len(c.live) > 0 {
		return true
	}
	left := journal.State().Run
	return left != nil && len(left.Open()) > 0
}
