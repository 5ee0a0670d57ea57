// Package mailbox is the queue of a session: pure, without locks or I/O. Its owner guards it.
package mailbox

import (
	"slices"
	"sync/atomic"

	"agenthost/agents/internal/message"
	"agenthost/run"
)

// A Mailbox is the queue of a session's inputs, in the order of their turns, counted by
// their places. It is pure: no lock, no I/O; its owner guards it.
type Mailbox struct {
	Queue    []*message.Item
	count    [message.Places]int // of these, by their place
	changing int                 // of these, edit or withdraw another
	Total    *atomic.Int64       // of all mailboxes of the agent
}

// Insert puts it at a place of the queue.
func (m *Mailbox) Insert(at int, it *message.Item) {
	m.Queue = slices.Insert(m.Queue, at, it)
	m.Total.Add(1)
	m.entered(it)
}

// Remove takes one input off the queue, and reports whether it was there.
func (m *Mailbox) Remove(it *message.Item) bool {
	i := slices.Index(m.Queue, it)
	if i < 0 {
		return false
	}
	m.Queue = slices.Delete(m.Queue, i, i+1)
	m.Total.Add(-1)
	m.left(it)
	return true
}

// RemoveFirst takes the first n inputs off the queue.
func (m *Mailbox) RemoveFirst(n int) []*message.Item {
	items := slices.Clone(m.Queue[:n])
	m.Queue = slices.Delete(m.Queue, 0, n)
	m.Total.Add(-int64(n))
	for _, it := range items {
		m.left(it)
	}
	return items
}

// Move changes the place of an input of the queue.
func (m *Mailbox) Move(it *message.Item, to message.Place) {
	m.count[it.Place]--
	m.count[to]++
	it.Place = to
}

// Shift gives the input at a turn another one.
func (m *Mailbox) Shift(from, to int) {
	it := m.Queue[from]
	m.Queue = slices.Insert(slices.Delete(m.Queue, from, from+1), to, it)
}

// Restart is the queue as if all had just come, with items in front: what only the log
// holds is dropped.
func (m *Mailbox) Restart(items []*message.Item) {
	before := len(m.Queue)
	m.Queue = slices.DeleteFunc(slices.Insert(m.Queue, 0, items...), func(it *message.Item) bool { return it.Delivery == nil })
	m.Total.Add(int64(len(m.Queue) - before))
	m.count, m.changing = [message.Places]int{}, 0
	for _, it := range m.Queue {
		it.Place = message.Held
		m.entered(it)
	}
}

func (m *Mailbox) entered(it *message.Item) {
	m.count[it.Place]++
	if it.Changes() {
		m.changing++
	}
}

func (m *Mailbox) left(it *message.Item) {
	m.count[it.Place]--
	if it.Changes() {
		m.changing--
	}
}

// Standing is how many inputs wait for their turn.
func (m *Mailbox) Standing() int { return len(m.Queue) - m.count[message.Repeated] }

// Find is the first input whose id fits, or nil.
func (m *Mailbox) Find(id string, fits func(*message.Item) bool) *message.Item {
	i := slices.IndexFunc(m.Queue, func(it *message.Item) bool { return it.Input.ID == id && fits(it) })
	if i < 0 {
		return nil
	}
	return m.Queue[i]
}

// TurnOf is where it belongs by when it came.
func (m *Mailbox) TurnOf(it *message.Item) int {
	at := slices.IndexFunc(m.Queue, func(other *message.Item) bool {
		return other.Input.Seq > it.Input.Seq && other.Origin.Guest() == it.Origin.Guest() // else of another stream
	})
	if at < 0 {
		return len(m.Queue)
	}
	return at
}

// LastTurn is where what has just come belongs: at the end, but before what only the
// log has and came later.
func (m *Mailbox) LastTurn(it *message.Item) int {
	at := len(m.Queue)
	for at > 0 && !it.Interjects() && !it.Origin.Guest() && m.Queue[at-1].OnlyLogged() &&
		(m.Queue[at-1].Origin.Guest() || m.Queue[at-1].Input.Seq > it.Input.Seq) {
		at--
	}
	return at
}

// Merge queues what the log holds as accepted, each at its turn among what was delivered
// since. One that came again, as its acknowledgement was lost, may stand behind what is
// newer. Another message with its id is a copy, and keeps the turn of its own. read makes
// an item of an input; nil leaves it out.
func (m *Mailbox) Merge(waiting []run.Input, read func(run.Input) *message.Item) {
	for _, in := range waiting {
		it := m.Find(in.ID, func(it *message.Item) bool { return it.Input.Seq == in.Seq })
		if it != nil {
			m.Remove(it)
			it.Place = message.Logged
		} else if it = read(in); it == nil {
			continue
		}
		m.Insert(m.TurnOf(it), it)
	}
}

// In is how many inputs of the queue are at a place.
func (m *Mailbox) In(p message.Place) int { return m.count[p] }
