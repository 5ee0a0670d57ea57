package conversation

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/run"
	"agenthost/session"
)

// The log names what comes of another account of the person by the account and its id. A host of
// before named it by the id alone, as that of any other account of the session. What may have
// begun is looked up by that as well, and keeps the name that the log has of it.

// mayBeLoggedByOwnID reports whether the log may have an input by the id that it was sent with.
// Called with the lock held.
func mayBeLoggedByOwnID(journal *session.Log, it *message.Item) bool {
	if it.Input.Sent == "" || it.OwnIDLookedUp || !mayHaveEnded(it) || !notLogged(journal, it) {
		return false
	}
	_, seen := journal.Seen(it.Input.Sent)
	return seen
}

// nameAsLogged names what the log has by the id that it was sent with as the log does.
func (c *Conversation) nameAsLogged(journal *session.Log) error {
	c.mu.Lock()
	var unsure []*message.Item
	for _, it := range c.Queue {
		if mayBeLoggedByOwnID(journal, it) {
			unsure = append(unsure, it)
		}
	}
	c.mu.Unlock()
	for _, it := range unsure {
		logged, err := c.loggedByOwnID(journal, it)
		if err != nil {
			return err
		}
		c.mu.Lock()
		if it.OwnIDLookedUp = true; logged && notLogged(journal, it) { // what is on its way to the log has its name
			it.Input.ID, it.Input.Sent = it.Input.Sent, ""
		}
		c.mu.Unlock()
	}
	return nil
}

// loggedByOwnID reports whether what the log has by the own id of an input is that, and no message
// of another account: the same message, or one that was answered where this is to be.
func (c *Conversation) loggedByOwnID(journal *session.Log, it *message.Item) (logged bool, err error) {
	seq, _ := journal.Seen(it.Input.Sent)
	if seq == 0 {
		state := journal.State()
		open := state.Waiting
		if state.Run != nil {
			open = slices.Concat(open, state.Run.Inputs)
		}
		return slices.ContainsFunc(open, func(in run.Input) bool {
			return in.ID == it.Input.Sent && in.Subject == it.Input.Subject && in.Seq == it.Input.Seq
		}), nil
	}
	err = c.Insist(func() (err error) {
		logged, err = c.out.Answered(journal, seq, it.Input.Sent, it.Origin.Outbound())
		return err
	})
	return logged, err
}
