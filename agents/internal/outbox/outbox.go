// Package outbox publishes the replies of a session in the order of its log.
package outbox

import (
	"sync"

	"agenthost/agents/internal/tracing"
	"agenthost/run"
)

// A Batch is what one commit publishes. End is called once, when all of it
// is stored or when the host stops before that; it must not block.
type Batch struct {
	Replies []*run.Reply
	Trace   tracing.Context
	End     func(stored bool)
}

// A Poster publishes single replies for an Outbox.
type Poster interface {
	// Post publishes a reply. If it returns true, Stored of the outbox is called once
	// the reply is stored, or cannot be.
	Post(reply *run.Reply, t tracing.Context) (waits bool)
	// Posted is called when nothing is left in the outbox.
	Posted()
}

// An Outbox publishes a reply after all before it are stored, so that the replies of a
// session keep their order whatever has to be sent again. It has a lock of its own and
// no goroutine: it goes on in the callbacks of what is stored. The zero Outbox is empty.
type Outbox struct {
	mu      sync.Mutex
	batches []*Batch
	sending bool
	posted  *run.Reply // the one that is not stored yet
}

// Send publishes a batch after those before it.
func (o *Outbox) Send(b *Batch, p Poster) {
	o.mu.Lock()
	o.batches = append(o.batches, b)
	if o.sending {
		o.mu.Unlock()
		return
	}
	o.sending = true
	o.mu.Unlock()
	o.pump(p)
}

// Sending reports whether anything is on its way.
func (o *Outbox) Sending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sending
}

// OnTheirWay are the replies that are not stored yet.
func (o *Outbox) OnTheirWay() (list []*run.Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.posted != nil {
		list = append(list, o.posted)
	}
	for _, b := range o.batches {
		list = append(list, b.Replies...)
	}
	return list
}

// Stored goes on after a reply, or gives up what is not stored: the log has it, and
// the next owner that opens it sends it.
func (o *Outbox) Stored(stored bool, p Poster) {
	if stored {
		o.pump(p)
	} else {
		o.abandon(p)
	}
}

// pump publishes the oldest reply that is not stored yet.
func (o *Outbox) pump(p Poster) {
	for {
		b, reply := o.next()
		switch {
		case b == nil:
			p.Posted()
			return
		case reply == nil:
			b.End(true)
		case p.Post(reply, b.Trace):
			return // Stored goes on
		}
	}
}

// next takes the oldest reply, or the batch that has no more; nil when the outbox is
// empty.
func (o *Outbox) next() (b *Batch, reply *run.Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.posted = nil
	if len(o.batches) == 0 {
		o.sending = false
		return nil, nil
	}
	b = o.batches[0]
	if len(b.Replies) == 0 {
		o.batches[0] = nil
		o.batches = o.batches[1:]
		return b, nil
	}
	reply = b.Replies[0]
	b.Replies = b.Replies[1:]
	o.posted = reply
	return b, reply
}

func (o *Outbox) abandon(p Poster) {
	o.mu.Lock()
	batches := o.batches
	o.batches, o.sending, o.posted = nil, false, nil
	o.mu.Unlock()
	for _, b := range batches {
		b.End(false)
	}
	p.Posted()
}
