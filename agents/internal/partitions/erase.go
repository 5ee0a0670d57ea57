package partitions

import (
	"agenthost/agents/internal/message"
	"agenthost/session"
)

// isErased reports whether an input is of a person whom the host has to forget.
func (d *Division) isErased(it *message.Item, key session.Key) bool {
	erasures := &d.agent.Parts.Erasures
	return erasures.Any() && erasures.Holds(it.Origin.Sent(d.agent.ID, key, it.Input.Seq))
}

// Erase drops what waits to be handed on from a person who is erased.
func (d *Division) Erase() {
	d.mu.Lock()
	var gone []*message.Item
	for key, q := range d.queues {
		gone = append(gone, q.take(func(it *message.Item) bool { return d.isErased(it, key) })...)
	}
	d.mu.Unlock()
	for _, it := range gone {
		it.Delivery.Done()
	}
}

// Erased reports whether nothing of such a person is being handed on.
func (d *Division) Erased() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, q := range d.queues {
		if q.begun && len(q.items) > 0 && d.isErased(q.items[0], key) {
			return false
		}
	}
	return true
}
