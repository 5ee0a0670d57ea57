package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// A message that edits or withdraws another is an input like any other: it is queued,
// goes to the log and has its end there. It goes there at once, so that an owner after
// a crash knows of it whichever of the two comes again first. It has its effect when
// the other is taken: an edit becomes an input of the same run, whose message is then
// another; a withdrawn message and what has withdrawn it end without a run. One whose
// turn comes has missed its message, and is answered with an error.

// hasTarget reports whether what a message changes waits in the queue. Called with the
// lock held, and the log open.
func (c *Conversation) hasTarget(it *message.Item) bool { return c.HasTarget(it, c.waits) }

// waits reports whether an input of the queue is still to be taken. Called with the
// lock held, and the log open.
func (c *Conversation) waits(it *message.Item) bool {
	seq, seen := it.Seen(c.journal)
	return !seen || seq == 0 && (it.Place == message.Logged || it.Place == message.Spilling)
}

// missed is the error of a message that changes none that waits.
func (c *Conversation) missed(it *message.Item) *run.Error {
	target := it.Changed()
	if slices.ContainsFunc(c.Queue, func(other *message.Item) bool {
		return other != it && other.Input.ID == target && c.waits(other) && !c.inRun(target)
	}) { // it is of another sender, or as good as withdrawn
		return c.reader().Mistake(it, "change_unknown")
	}
	if _, seen := c.journal.Seen(target); seen || c.current != nil && c.current.Takes(target) {
		return c.reader().Mistake(it, "change_too_late")
	}
	return c.reader().Mistake(it, "change_unknown")
}

// dropWithdrawn ends what was withdrawn. It reports whether the queue has to wait for
// a commit under way to know what else is. Called with the lock held.
func (c *Conversation) dropWithdrawn() (wait bool) {
	taken, wait := c.TakeWithdrawn(c.waits)
	if len(taken) > 0 { // of which one is a change
		c.watch().Again()
	}
	for _, it := range taken {
		if !it.Withdrawn {
			it.Refusal = c.reader().Mistake(it, "change_unknown")
		}
	}
	c.refusals = append(c.refusals, taken...)
	return wait
}

// endWithdrawn ends what was withdrawn while the head of the queue waits for the rate
// of its sender.
func (c *Conversation) endWithdrawn(journal *session.Log) {
	c.mu.Lock()
	delayed := len(c.Queue) > 0 && c.Queue[0].NotBefore.After(time.Now())
	if delayed {
		c.dropWithdrawn()
	}
	c.mu.Unlock()
	if delayed {
		c.commitRefusals(journal)
	}
}

// edited applies the edits of items that were taken off the queue, and returns all
// that their run answers: the edits before the messages. One that cannot be made is to be
// refused. Called with the lock held.
func (c *Conversation) edited(items []*message.Item) []*message.Item {
	if c.HasChanges() {
		defer c.watch().Again()
	}
	return c.Edit(items, func(edit, of *message.Item, err error) {
		c.Log().Error().Err(err).Str("id", of.Input.ID).Msg("edit message: its envelope cannot be written; it stays as it was")
		edit.Refusal = c.reader().Mistake(edit, "change_too_late") // the run takes it as it was
		c.refusals = append(c.refusals, edit)
	})
}

// saidNow is the envelope of a message as its edits leave it. Called with the lock held.
func (c *Conversation) saidNow(it *message.Item) *bus.Inbound {
	in := it.Origin.Inbound
	if in == nil || !c.HasChanges() { // as mostly
		return in
	}
	now := *in
	for _, edit := range c.ChangedIn(it) {
		if by := edit.Origin.Inbound; by.Edits != "" && edit.Place != message.Repeated {
			now.Text, now.Media = by.Text, by.Media
		}
	}
	return &now
}

// refuseMissed takes a message off the queue that changes none that waits. Called with
// the lock held.
func (c *Conversation) refuseMissed(it *message.Item) {
	c.takeOut(it)
	it.Refusal = c.missed(it)
	c.refusals = append(c.refusals, it)
}

// refuseMissing refuses what came before the log was open and changes none that waits.
// Called with the lock held.
func (c *Conversation) refuseMissing() {
	if c.suspended || !c.HasChanges() {
		return
	}
	for _, it := range slices.Clone(c.Queue) {
		if it.Changes() && it.Place == message.Held && !known(c.journal, it) && !c.hasTarget(it) {
			c.refuseMissed(it)
		}
	}
}
