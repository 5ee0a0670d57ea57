package conversation

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// The rate of a sender judges a message once its session knows what the message is: one that
// has come before, and one that answers what is open in its chat, do not count.

// withinRate reports whether the rate of its sender lets an input go on, which may have to wait
// for its turn then. What it does not let go on is to be refused, and belongs in no queue any
// more: the caller takes it out, and calls commitRefusals without the lock. Called with the lock
// held.
func (c *Conversation) withinRate(journal *session.Log, it *message.Item) bool {
	if it.Unrated.IsZero() || c.cameBefore(journal, it) || c.shared.Intake.WithinRate(it) {
		return true
	}
	// The log notes its sequence alone: sent again, with the same id, it is another try.
	it.Refusal, it.Since = c.shared.Intake.OverRate(it), it.Input.Seq
	c.refusals = append(c.refusals, it)
	return false
}

// withinRateInTurn is withinRate for an input that has just come: the log notes a flood of such
// by where it begins and ends. Called with the lock held.
func (c *Conversation) withinRateInTurn(journal *session.Log, it *message.Item) bool {
	if c.withinRate(journal, it) {
		return true
	}
	it.Since = c.stretch(it)
	return false
}

// withinRateInOrder is withinRate for an input that is not judged at its turn, but before it goes to
// the log. Called with the lock held.
func (c *Conversation) withinRateInOrder(journal *session.Log, it *message.Item) bool {
	if it.MayHaveBegun() {
		c.rateInOrder(journal, c.Queue[:slices.Index(c.Queue, it)])
	}
	return c.withinRate(journal, it)
}

// rateInOrder has the rate judge what may have begun of a list, before what came later is judged:
// what came first is what it lets go on. What is over the rate stays unrated until its turn, as it
// may have been passed on. Called with the lock held.
func (c *Conversation) rateInOrder(journal *session.Log, list []*message.Item) {
	for _, it := range list {
		if !it.Unrated.IsZero() && it.MayHaveBegun() && !c.cameBefore(journal, it) {
			c.shared.Intake.WithinRate(it)
		}
	}
}

// turnsAway takes an input off the queue that the rate of its sender does not let go on, and
// reports whether it did; the caller calls commitRefusals without the lock. It answers nothing of
// this session; whether anything elsewhere may have to be found out first. Called with the lock
// held.
func (c *Conversation) turnsAway(journal *session.Log, it *message.Item) bool {
	if it.Unrated.IsZero() || !slices.Contains(c.Queue, it) || c.passer().MayPass(it) || c.withinRate(journal, it) {
		return false
	}
	c.takeOut(it)
	return true
}

// cameBefore reports whether an input with its id is in the log, under way, or waits already.
// Called with the lock held.
func (c *Conversation) cameBefore(journal *session.Log, it *message.Item) bool {
	return known(journal, it) || c.inRun(it.Input.ID) || slices.ContainsFunc(c.Queue, func(other *message.Item) bool {
		return other != it && other.Input.ID == it.Input.ID && other.Unrated.IsZero()
	})
}

// mayAnswerHere reports whether something of this session is open that an input may be the
// answer to. Called with the lock held.
func (c *Conversation) mayAnswerHere(journal *session.Log) bool {
	if c.suspended || c.live.Any() {
		return true
	}
	left := journal.State().Run
	return left != nil && len(left.Open()) > 0
}
