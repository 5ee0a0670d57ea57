package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/run"
	"agenthost/session"
)

// What has come again is answered from the log: an owner before may have died between the
// commit and the publication of its replies.

// oldestUnsent is the first commit whose replies an owner before may not have
// published, 0 for no such commit: that of the oldest message that has come
// again, or just the last, which may be of inputs that only the log held, or of what another
// lane has brought and brings again later. Called with the lock held.
func (c *Conversation) oldestUnsent(journal *session.Log) uint64 {
	tried, from := false, journal.Replied()
	for _, it := range c.Queue {
		if !it.Tried {
			continue
		}
		tried = true
		if seq, _ := it.Seen(journal); seq > 0 {
			from = min(from, seq)
		}
	}
	if !tried && (from <= c.replied || time.Since(journal.RepliedAt()) > bus.DedupeWindow) {
		return 0
	}
	return from
}

// ended reports whether it has come again, has its end, and its replies were sent again
// already: then it need not wait for its turn. Called with the
// lock held.
func (c *Conversation) ended(it *message.Item) bool {
	if c.journal == nil || it.Interjects() || it.Origin.ResultTo() != "" { // of that the log has to be read
		return false
	}
	seq, seen := it.Seen(c.journal)
	return seen && c.out.CaughtUp(seq)
}

// answeredAgain publishes again what was replied since an answer was taken, by an owner that
// may have died before it was stored: nothing else may come again for it.
func (c *Conversation) answeredAgain(journal *session.Log, it *message.Item, seq uint64) error {
	c.Agent.Parts.Tell(it.Origin.Route, nil)
	if err := c.out.Since(journal, seq); err != nil {
		it.Delivery.Leave()
		return err
	}
	c.out.Send(c.acknowledgement(it))
	return nil
}

// answerAgain publishes what the log has as the answer to it.
func (c *Conversation) answerAgain(journal *session.Log, it *message.Item, seq uint64) error {
	if it.Delivery == nil {
		return nil
	}
	err := c.out.Again(journal, seq, it, c.acknowledgement(it))
	if err != nil {
		it.Delivery.Leave()
	}
	return err
}

// acknowledgement settles it once all that is sent before is stored.
func (c *Conversation) acknowledgement(it *message.Item) *outbox.Batch {
	back := []*delivery.Delivery{it.Delivery}
	return &outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(back)
		} else {
			message.LeaveAll(back)
		}
	}}
}

// moves reports whether a task has come again, before its end, and names another subject for its
// result than the log has.
func moves(journal *session.Log, it *message.Item) bool {
	to := it.Origin.ResultTo()
	if to == "" {
		return false
	}
	state := journal.State()
	inputs := slices.Clone(state.Waiting)
	if state.Run != nil {
		inputs = append(inputs, state.Run.Inputs...)
	}
	return slices.ContainsFunc(inputs, func(in run.Input) bool {
		if in.ID != it.Input.ID {
			return false
		}
		o, err := message.ReadOrigin(in)
		before := o.ResultTo()
		return err == nil && before != "" && before != to
	})
}

// move notes in the log where the result of a task goes that has come again while its run waits, or
// while it waits behind that. The log is read again then: it holds the task.
func (c *Conversation) move(journal *session.Log, it *message.Item) error {
	err := c.add(journal, run.Event{Type: run.InputMoved, At: time.Now().UTC().Round(0), Inputs: []run.Input{{ID: it.Input.ID}}, To: it.Origin.ResultTo()})
	if err != nil {
		return err
	}
	c.unqueue(it)
	it.Delivery.Done()
	return errOutdated
}
