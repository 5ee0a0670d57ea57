package agents

import (
	"slices"
	"sync/atomic"

	"agenthost/run"
)

// A mailbox is the queue of a session's inputs, in the order of their turns, counted by
// their places. It is pure: no lock, no I/O; the conversation guards it.
type mailbox struct {
	queue    []*item
	count    [places]int   // of these, by their place
	changing int           // of these, edit or withdraw another
	total    *atomic.Int64 // of all mailboxes of the agent
}

// insert puts it at a place of the queue.
func (m *mailbox) insert(at int, it *item) {
	m.queue = slices.Insert(m.queue, at, it)
	m.total.Add(1)
	m.entered(it)
}

// remove takes one input off the queue, and reports whether it was there.
func (m *mailbox) remove(it *item) bool {
	i := slices.Index(m.queue, it)
	if i < 0 {
		return false
	}
	m.queue = slices.Delete(m.queue, i, i+1)
	m.total.Add(-1)
	m.left(it)
	return true
}

// removeFirst takes the first n inputs off the queue.
func (m *mailbox) removeFirst(n int) []*item {
	items := slices.Clone(m.queue[:n])
	m.queue = slices.Delete(m.queue, 0, n)
	m.total.Add(-int64(n))
	for _, it := range items {
		m.left(it)
	}
	return items
}

// move changes the place of an input of the queue.
func (m *mailbox) move(it *item, to place) {
	m.count[it.place]--
	m.count[to]++
	it.place = to
}

// shift gives the input at a turn another one.
func (m *mailbox) shift(from, to int) {
	it := m.queue[from]
	m.queue = slices.Insert(slices.Delete(m.queue, from, from+1), to, it)
}

// restart is the queue as if all had just come, with items in front: what only the log
// holds is dropped.
func (m *mailbox) restart(items []*item) {
	before := len(m.queue)
	m.queue = slices.DeleteFunc(slices.Insert(m.queue, 0, items...), func(it *item) bool { return it.delivery == nil })
	m.total.Add(int64(len(m.queue) - before))
	m.count, m.changing = [places]int{}, 0
	for _, it := range m.queue {
		it.place = held
		m.entered(it)
	}
}

func (m *mailbox) entered(it *item) {
	m.count[it.place]++
	if it.changes() {
		m.changing++
	}
}

func (m *mailbox) left(it *item) {
	m.count[it.place]--
	if it.changes() {
		m.changing--
	}
}

// standing is how many inputs wait for their turn.
func (m *mailbox) standing() int { return len(m.queue) - m.count[repeated] }

// find is the first input whose id fits, or nil.
func (m *mailbox) find(id string, fits func(*item) bool) *item {
	i := slices.IndexFunc(m.queue, func(it *item) bool { return it.input.ID == id && fits(it) })
	if i < 0 {
		return nil
	}
	return m.queue[i]
}

// turnOf is where it belongs by when it came.
func (m *mailbox) turnOf(it *item) int {
	at := slices.IndexFunc(m.queue, func(other *item) bool {
		return other.input.Seq > it.input.Seq && other.origin.guest() == it.origin.guest() // else of another stream
	})
	if at < 0 {
		return len(m.queue)
	}
	return at
}

// lastTurn is where what has just come belongs: at the end, but before what only the
// log has and came later.
func (m *mailbox) lastTurn(it *item) int {
	at := len(m.queue)
	for at > 0 && !it.interjects() && !it.origin.guest() && m.queue[at-1].onlyLogged() &&
		(m.queue[at-1].origin.guest() || m.queue[at-1].input.Seq > it.input.Seq) {
		at--
	}
	return at
}

// changedIn are those of the queue that change it, in the order they came.
func (m *mailbox) changedIn(it *item) (list []*item) {
	for _, other := range m.queue {
		if other.changesOf(it) {
			list = append(list, other)
		}
	}
	return list
}

// hasChanges reports whether the queue has any input that changes another.
func (m *mailbox) hasChanges() bool { return m.changing > 0 }

// unsettledChange reports whether a change of one of the first n of the queue is on its
// way to the log.
func (m *mailbox) unsettledChange(n int) bool {
	return slices.ContainsFunc(m.queue, func(change *item) bool {
		return change.place == spilling && change.changes() && slices.ContainsFunc(m.queue[:n], change.changesOf)
	})
}

// merge queues what the log holds as accepted, each at its turn among what was delivered
// since. One that came again, as its acknowledgement was lost, may stand behind what is
// newer. read makes an item of an input; nil leaves it out.
func (m *mailbox) merge(waiting []run.Input, read func(run.Input) *item) {
	for _, in := range waiting {
		it := m.find(in.ID, func(*item) bool { return true })
		if it == nil {
			if it = read(in); it == nil {
				continue
			}
		} else {
			if m.move(it, logged); it.input.Seq != in.Seq { // another message with that id
				continue
			}
			m.remove(it)
		}
		m.insert(m.turnOf(it), it)
	}
}
