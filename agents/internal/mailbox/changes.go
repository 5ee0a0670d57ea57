package mailbox

import (
	"cmp"
	"slices"

	"agenthost/agents/internal/message"
)

// A message that edits or withdraws another waits in the queue as any other, and has its effect
// when that one is taken. Whether an input still waits to be taken the log knows.

// HasTarget reports whether what a message changes is in the queue, and waits.
func (m *Mailbox) HasTarget(change *message.Item, waits func(*message.Item) bool) bool {
	return slices.ContainsFunc(m.Queue, func(it *message.Item) bool {
		return change.ChangesOf(it) && waits(it) && !m.withdrawnBefore(change, it)
	})
}

// withdrawnBefore reports whether the log has that it was withdrawn before another change of it came.
func (m *Mailbox) withdrawnBefore(change, it *message.Item) bool {
	return slices.ContainsFunc(m.Queue, func(other *message.Item) bool {
		return other.Place == message.Logged && other.ChangesOf(it) && other.Origin.Inbound.Withdraws != "" &&
			other.Input.ID != change.Input.ID && older(other, change) < 0
	})
}

// BehindTarget moves a change at the head of the queue behind what it changes: a run
// that broke off has left them the other way round.
func (m *Mailbox) BehindTarget(change *message.Item) {
	m.Shift(0, slices.IndexFunc(m.Queue, change.ChangesOf))
}

// TakeWithdrawn takes off the queue what was withdrawn and waits, with all that changes it. What
// is not marked as withdrawn of these came too late to change anything. It also reports whether
// the queue has to wait for a commit under way to know what else is withdrawn.
func (m *Mailbox) TakeWithdrawn(waits func(*message.Item) bool) (taken []*message.Item, unsettled bool) {
	if !m.HasChanges() { // as mostly
		return nil, false
	}
	for _, change := range slices.Clone(m.Queue) {
		if !change.Changes() || change.Origin.Inbound.Withdraws == "" {
			continue
		}
		i := slices.IndexFunc(m.Queue, change.ChangesOf)
		if i < 0 || !waits(m.Queue[i]) {
			continue
		}
		target := m.Queue[i]
		ending := append(m.ChangedIn(target), target)
		for _, copied := range m.Queue { // it has come twice
			if copied != target && change.ChangesOf(copied) {
				ending = append(ending, copied)
			}
		}
		if slices.ContainsFunc(ending, func(it *message.Item) bool { return it.Place == message.Spilling }) {
			unsettled = true
			continue
		}
		after := slices.Index(ending, change) + 1 // what comes from here on finds nothing that waits
		for i, it := range ending {
			m.Remove(it)
			copied := slices.ContainsFunc(ending[:min(i, after)], func(other *message.Item) bool { return other.Input.ID == it.Input.ID })
			it.Withdrawn = i < after || copied || !it.Changes()
			taken = append(taken, it)
		}
	}
	return taken, unsettled
}

// Edit applies to items, which were taken off the queue, their edits, which are of items or of
// the queue. all are the edits that were made, before the messages. What cannot be made is given
// to fail, and in neither any more.
func (m *Mailbox) Edit(items []*message.Item, fail func(edit, of *message.Item, err error)) (all []*message.Item) {
	if !slices.ContainsFunc(items, (*message.Item).Changes) && !m.HasChanges() { // as mostly
		return items
	}
	var edits, messages []*message.Item
	for _, it := range items {
		if !it.Changes() {
			messages = append(messages, it)
		}
	}
	for _, it := range messages {
		all := slices.Concat(items, m.ChangedIn(it))
		slices.SortStableFunc(all, older) // the newest has the last word
		for _, edit := range all {
			same := func(other *message.Item) bool { return other.Input.ID == edit.Input.ID }
			if !edit.ChangesOf(it) || edit.Place == message.Repeated || slices.ContainsFunc(edits, same) { // it has come twice
				continue
			}
			m.Remove(edit)
			if err := it.Edit(edit); err != nil {
				fail(edit, it, err)
				continue
			}
			edits = append(edits, edit)
		}
	}
	return append(edits, messages...)
}

// ChangedIn are those of the queue that change it, in the order they came. A run that broke off
// may have left them in another.
func (m *Mailbox) ChangedIn(it *message.Item) (list []*message.Item) {
	for _, other := range m.Queue {
		if other.ChangesOf(it) {
			list = append(list, other)
		}
	}
	slices.SortStableFunc(list, older)
	return list
}

// older compares two messages of one stream by when they came.
func older(a, b *message.Item) int { return cmp.Compare(a.Input.Seq, b.Input.Seq) }

// HasChanges reports whether the queue has any input that changes another.
func (m *Mailbox) HasChanges() bool { return m.changing > 0 }

// UnsettledChange reports whether a change of one of the first n of the queue is on its
// way to the log.
func (m *Mailbox) UnsettledChange(n int) bool {
	return slices.ContainsFunc(m.Queue, func(change *message.Item) bool {
		return change.Place == message.Spilling && change.Changes() && slices.ContainsFunc(m.Queue[:n], change.ChangesOf)
	})
}
