package conversation

import (
	"context"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/session"
)

// What a session has answered that was deleted since may come again, and no log has it. Only
// what may have begun, and is not in the log, is looked up: a new message costs nothing.

// unsure reports whether an input may have been answered in this session before it was deleted,
// as far as is known without a look. Called with the lock held.
func (c *Conversation) unsure(journal *session.Log, it *message.Item) bool {
	return c.deleted == nil && mayHaveEnded(it) && notLogged(journal, it)
}

// mayHaveEnded reports whether an owner before may have ended an input, as far as its message
// shows: what this host alone has tried has no end that was deleted.
func mayHaveEnded(it *message.Item) bool {
	d := it.Delivery
	return d != nil && (d.Tried || d.Handed || d.Doubtful) && !it.Interjects()
}

// notLogged reports whether the log neither has an input nor is about to.
func notLogged(journal *session.Log, it *message.Item) bool {
	return (it.Place == message.Held || it.Place == message.Spilled) && !known(journal, it)
}

// lookUpDeleted reads whether the session was deleted, where that matters for what is in the
// queue; nil: it does not.
func (c *Conversation) lookUpDeleted(journal *session.Log) (deleted *session.Tombstone, err error) {
	c.mu.Lock()
	looks := false
	for _, it := range c.Queue {
		looks = looks || c.unsure(journal, it)
	}
	c.mu.Unlock()
	if !looks {
		return nil, nil
	}
	err = c.Insist(func() error {
		ctx, cancel := context.WithTimeout(c.Agent.Work, 10*time.Second)
		defer cancel()
		found, err := c.Agent.Parts.Store.Tombstone(ctx, c.Agent.ID, c.Key)
		deleted = &found
		return err
	})
	return deleted, err
}

// leaveOutDeleted ends what of the queue was there when the session was deleted.
func (c *Conversation) leaveOutDeleted(journal *session.Log) error {
	deleted, err := c.lookUpDeleted(journal)
	if deleted == nil || err != nil {
		return err
	}
	c.mu.Lock()
	c.deleted = deleted
	over := c.takeUnknown(journal)
	c.mu.Unlock()
	for _, d := range over {
		d.Done()
	}
	return nil
}

// isOver reports whether an input that the log does not have is nothing to work on: it came before
// its sender was let in, or shut out, or before the session was deleted. Called with the lock
// held.
func (c *Conversation) isOver(journal *session.Log, it *message.Item) bool {
	if !it.OnlyKnown && c.deleted == nil { // as mostly
		return false
	}
	deleted := c.deleted != nil && mayHaveEnded(it) && c.deleted.Covers(it.Delivery.Stream(), it.Delivery.Seq, it.Delivery.Stored)
	return (it.OnlyKnown || deleted) && notLogged(journal, it)
}

// takeUnknown takes what is over out of the queue. Called with the lock held.
func (c *Conversation) takeUnknown(journal *session.Log) (over []*delivery.Delivery) {
	for i := 0; i < len(c.Queue); {
		if it := c.Queue[i]; c.isOver(journal, it) {
			over = append(over, it.Delivery)
			c.takeOut(it)
		} else {
			i++
		}
	}
	return over
}
