package agents

import (
	"encoding/json"
	"slices"

	"agenthost/agents/internal/outbox"
	"agenthost/run"
)

// A message that edits or withdraws another is an input like any other: it is queued,
// goes to the log and has its end there. It goes there at once, so that an owner after
// a crash knows of it whichever of the two comes again first. It has its effect when
// the other is taken: an edit becomes an input of the same run, whose message is then
// another; a withdrawn message and what has withdrawn it end without a run. One whose
// turn comes has missed its message, and is answered with an error.

// changes reports whether it edits or withdraws another message.
func (it *item) changes() bool {
	in := it.origin.inbound
	return in != nil && (in.Edits != "" || in.Withdraws != "")
}

// changesOf reports whether it is to change that other input: one of the same sender,
// and not of another stream.
func (it *item) changesOf(other *item) bool {
	if !it.changes() || other.origin.inbound == nil || other.changes() || it == other {
		return false
	}
	in := it.origin.inbound
	return orElse(in.Edits, in.Withdraws) == other.input.ID && sender(in) == sender(other.origin.inbound)
}

// hasTarget reports whether what a message changes waits in the queue. Called with the
// lock held, and the log open.
func (c *conversation) hasTarget(it *item) bool {
	return slices.ContainsFunc(c.queue, func(other *item) bool { return it.changesOf(other) && c.waits(other) })
}

// waits reports whether an input of the queue is still to be taken. Called with the
// lock held, and the log open.
func (c *conversation) waits(it *item) bool {
	seq, seen := it.seen(c.journal)
	return !seen || it.place == logged && seq == 0
}

// behindTarget moves a change at the head of the queue behind what it changes: a run
// that broke off has left them the other way round. Called with the lock held.
func (c *conversation) behindTarget(it *item) {
	c.shift(0, slices.IndexFunc(c.queue, it.changesOf))
}

// missed is the error of a message that changes none that waits.
func (c *conversation) missed(it *item) *run.Error {
	in := it.origin.inbound
	target := orElse(in.Edits, in.Withdraws)
	if _, seen := c.journal.Seen(target); seen || c.current != nil && c.current.takes(target) {
		return c.mistake(it, "change_too_late")
	}
	return c.mistake(it, "change_unknown")
}

// dropWithdrawn ends what was withdrawn. It reports whether the queue has to wait for
// a commit under way to know what else is. Called with the lock held.
func (c *conversation) dropWithdrawn() (wait bool) {
	if !c.hasChanges() { // as mostly
		return false
	}
	for _, change := range slices.Clone(c.queue) {
		if !change.changes() || change.origin.inbound.Withdraws == "" {
			continue
		}
		i := slices.IndexFunc(c.queue, change.changesOf)
		if i < 0 || !c.waits(c.queue[i]) {
			continue
		}
		target := c.queue[i]
		ending := append(c.changedIn(target), target)
		if slices.ContainsFunc(ending, func(it *item) bool { return it.place == spilling }) {
			wait = true
			continue
		}
		for _, it := range ending {
			c.takeOut(it)
			it.withdrawn = true
			c.refusals = append(c.refusals, it)
		}
	}
	return wait
}

// edited applies the edits of items that were taken off the queue, and returns all
// that their run answers: the edits before the messages. Called with the lock held.
func (c *conversation) edited(items []*item) []*item {
	if !slices.ContainsFunc(items, (*item).changes) && !c.hasChanges() { // as mostly
		return items
	}
	var edits, messages []*item
	for _, it := range items {
		if !it.changes() {
			messages = append(messages, it)
		}
	}
	for _, it := range messages {
		for _, edit := range slices.Concat(items, c.changedIn(it)) {
			if !edit.changesOf(it) {
				continue
			}
			if err := it.edit(edit); err != nil {
				c.log().Error().Err(err).Str("id", it.input.ID).Msg("edit message: its envelope cannot be written; it stays as it was")
			}
			c.takeOut(edit)
			edits = append(edits, edit)
		}
	}
	return append(edits, messages...)
}

// edit puts what the person says now in the place of what they said. The
// before_message hooks have seen that, or see it with the message.
func (it *item) edit(edit *item) error {
	by := edit.origin.inbound
	fields := map[string]any{}
	if err := json.Unmarshal(it.input.Envelope, &fields); err != nil {
		return err
	}
	in := *it.origin.inbound
	in.Text, in.Media = by.Text, by.Media
	fields["text"], fields["media"] = in.Text, in.Media
	if len(in.Media) == 0 {
		delete(fields, "media")
	}
	envelope, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	it.input.Envelope, it.origin.inbound = envelope, &in
	it.input.Checked = edit.input.Checked || edit.screened.Load() != nil
	it.screened.Store(nil)
	return nil
}

// refuseMissed takes a message off the queue that changes none that waits. Called with
// the lock held.
func (c *conversation) refuseMissed(it *item) {
	c.takeOut(it)
	it.refusal = c.missed(it)
	c.refusals = append(c.refusals, it)
}

// refuseMissing refuses what came before the log was open and changes none that waits.
// Called with the lock held.
func (c *conversation) refuseMissing() {
	if c.suspended || !c.hasChanges() {
		return
	}
	for _, it := range slices.Clone(c.queue) {
		if it.changes() && it.place == held && !known(c.journal, it) && !c.hasTarget(it) {
			c.refuseMissed(it)
		}
	}
}

// messages are the items that say something of their own.
func (t *runner) messages() (list []*item) {
	for _, it := range t.items {
		if !it.changes() {
			list = append(list, it)
		}
	}
	return list
}

// endOf is the event that ends an input without a run, and the reply that goes with it.
func (c *conversation) endOf(it *item) (run.Event, *outbox.Batch) {
	input := &run.Input{ID: it.input.ID, Subject: it.input.Subject, Seq: it.input.Seq}
	if it.withdrawn {
		return run.Event{Type: run.InputWithdrawn, Input: input}, &outbox.Batch{}
	}
	out := c.aside(it, run.Reply{Kind: run.KindError, Final: true, Error: it.refusal, Text: it.refusal.Message})
	return run.Event{Type: run.InputRefused, Since: it.since, Reply: out.Replies[0], Input: input}, out
}
