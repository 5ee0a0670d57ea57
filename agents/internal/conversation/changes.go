package conversation

import (
	"cmp"
	"slices"
	"time"

	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
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
func (c *Conversation) hasTarget(it *message.Item) bool {
	return slices.ContainsFunc(c.Queue, func(other *message.Item) bool { return it.ChangesOf(other) && c.waits(other) })
}

// waits reports whether an input of the queue is still to be taken. Called with the
// lock held, and the log open.
func (c *Conversation) waits(it *message.Item) bool {
	seq, seen := it.Seen(c.journal)
	return !seen || seq == 0 && (it.Place == message.Logged || it.Place == message.Spilling)
}

// behindTarget moves a change at the head of the queue behind what it changes: a run
// that broke off has left them the other way round. Called with the lock held.
func (c *Conversation) behindTarget(it *message.Item) {
	c.Shift(0, slices.IndexFunc(c.Queue, it.ChangesOf))
}

// missed is the error of a message that changes none that waits.
func (c *Conversation) missed(it *message.Item) *run.Error {
	in := it.Origin.Inbound
	target := cmp.Or(in.Edits, in.Withdraws)
	if _, seen := c.journal.Seen(target); seen || c.current != nil && c.current.Takes(target) {
		return c.reader().Mistake(it, "change_too_late")
	}
	return c.reader().Mistake(it, "change_unknown")
}

// dropWithdrawn ends what was withdrawn. It reports whether the queue has to wait for
// a commit under way to know what else is. Called with the lock held.
func (c *Conversation) dropWithdrawn() (wait bool) {
	if !c.HasChanges() { // as mostly
		return false
	}
	for _, change := range slices.Clone(c.Queue) {
		if !change.Changes() || change.Origin.Inbound.Withdraws == "" {
			continue
		}
		i := slices.IndexFunc(c.Queue, change.ChangesOf)
		if i < 0 || !c.waits(c.Queue[i]) {
			continue
		}
		target := c.Queue[i]
		ending := append(c.ChangedIn(target), target)
		for _, copied := range c.Queue { // it has come twice
			if copied != target && change.ChangesOf(copied) {
				ending = append(ending, copied)
			}
		}
		if slices.ContainsFunc(ending, func(it *message.Item) bool { return it.Place == message.Spilling }) {
			wait = true
			continue
		}
		after := slices.Index(ending, change) + 1 // what comes from here on finds nothing that waits
		for i, it := range ending {
			c.takeOut(it)
			copied := slices.ContainsFunc(ending[:min(i, after)], func(other *message.Item) bool { return other.Input.ID == it.Input.ID })
			if it.Withdrawn = i < after || copied || !it.Changes(); !it.Withdrawn {
				it.Refusal = c.reader().Mistake(it, "change_unknown")
			}
			c.refusals = append(c.refusals, it)
		}
	}
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
	if !slices.ContainsFunc(items, (*message.Item).Changes) && !c.HasChanges() { // as mostly
		return items
	}
	var edits, messages []*message.Item
	for _, it := range items {
		if !it.Changes() {
			messages = append(messages, it)
		}
	}
	for _, it := range messages {
		all := slices.Concat(items, c.ChangedIn(it))
		slices.SortStableFunc(all, mailbox.Older) // the newest has the last word
		for _, edit := range all {
			same := func(other *message.Item) bool { return other.Input.ID == edit.Input.ID }
			if !edit.ChangesOf(it) || slices.ContainsFunc(edits, same) { // it has come twice
				continue
			}
			c.takeOut(edit)
			if err := it.Edit(edit); err != nil {
				c.Log().Error().Err(err).Str("id", it.Input.ID).Msg("edit message: its envelope cannot be written; it stays as it was")
				edit.Refusal = c.reader().Mistake(edit, "change_too_late") // the run takes it as it was
				c.refusals = append(c.refusals, edit)
				continue
			}
			edits = append(edits, edit)
		}
	}
	return append(edits, messages...)
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
