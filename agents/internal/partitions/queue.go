package partitions

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// A queue holds what waits to be handed on of a session, in the order of the stream. What a
// lane brings again, as it has come back to this host, may be older than what still waits
// from before.
type queue struct {
	items []*message.Item
	begun bool // the first is being handed on
}

// insert puts it at its turn.
func (q *queue) insert(it *message.Item) {
	at := len(q.items)
	for at > 0 && (at > 1 || !q.begun) && isBefore(it, q.items[at-1]) {
		at--
	}
	q.items = slices.Insert(q.items, at, it)
}

// isBefore reports whether a came before b; of different streams neither did.
func isBefore(a, b *message.Item) bool {
	return a.Delivery.Stream() == b.Delivery.Stream() && a.Delivery.Seq < b.Delivery.Seq
}

// takeUpTo takes off the queue what people have written, up to a sequence, and is not begun.
func (q *queue) takeUpTo(seq uint64) []*message.Item {
	return q.take(func(it *message.Item) bool {
		return it.Delivery.Stream() == bus.InboundStream && it.Delivery.Seq <= seq
	})
}

// take takes off the queue what fits, and is not begun.
func (q *queue) take(fits func(*message.Item) bool) (taken []*message.Item) {
	rest := slices.Clone(q.items)
	if q.begun {
		rest = rest[1:]
	}
	for _, it := range rest {
		if fits(it) {
			taken = append(taken, it)
		}
	}
	q.items = slices.DeleteFunc(q.items, func(it *message.Item) bool { return slices.Contains(taken, it) })
	return taken
}

// begin is the first, nil if nothing is left.
func (q *queue) begin() *message.Item {
	if len(q.items) == 0 {
		return nil
	}
	q.begun = true
	return q.items[0]
}

// end ends what begin has begun. Unless it is done, it stays the first.
func (q *queue) end(done bool) {
	begun := q.begun
	q.begun = false
	if begun && done {
		q.items = slices.Delete(q.items, 0, 1)
	}
}
