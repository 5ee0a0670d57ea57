package plugins

import (
	"cmp"
	"context"
	"slices"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// mostLeftover bounds what is read to find out which chats another owner has left
// replies of; with more all chats wait.
const mostLeftover = 50_000

// A leftover is what the server had delivered, to whomever, when it was asked first, and
// what of it may not be acknowledged. Only the chats of these have to wait.
type leftover struct {
	keys    map[uint64]string // the chat of each that is not here, by sequence
	missing map[string]int    // how many of a chat these are
	set     map[string]int    // how many of a chat wait for them
}

// arrived notes that a reply is here, or was settled before.
func (l *leftover) arrived(seq uint64) {
	if l == nil {
		return
	}
	if key, ok := l.keys[seq]; ok {
		delete(l.keys, seq)
		l.missing[key]--
	}
}

// holds reports whether a reply has to wait: older ones of its chat may come yet, or wait
// themselves.
func (l *leftover) holds(it *item) bool {
	if l == nil {
		return true
	}
	if l.missing[it.key] == 0 && l.set[it.key] == 0 {
		return false
	}
	l.set[it.key]++
	return true
}

// narrow finds out which chats have to wait, and lets the others go.
func (o *outbox) narrow(ctx context.Context, info *jetstream.ConsumerInfo) error {
	o.mu.Lock()
	known := !o.older || o.left != nil
	o.mu.Unlock()
	var left *leftover
	if !known {
		var err error
		if left, err = o.c.leftover(ctx, info); err != nil || left == nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if left != nil {
		o.left = left
		for seq := range left.keys {
			if o.held[seq] != nil || o.c.settled.has(seq) {
				left.arrived(seq)
			}
		}
	}
	if !o.older || o.left == nil {
		return nil
	}
	clear(o.left.set)
	slices.SortFunc(o.set, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	o.set = slices.DeleteFunc(o.set, func(it *item) bool {
		if o.left.missing[it.key] > 0 {
			o.left.set[it.key]++
			return false
		}
		o.enqueue(it)
		return true
	})
	return nil
}

// leftover reads what the server has delivered and may not have been acknowledged; nil
// when it is too much.
func (c *Courier) leftover(ctx context.Context, info *jetstream.ConsumerInfo) (*leftover, error) {
	first, last := info.AckFloor.Stream+1, info.Delivered.Stream
	if last >= first+mostLeftover {
		return nil, nil
	}
	l := &leftover{keys: map[uint64]string{}, missing: map[string]int{}, set: map[string]int{}}
	for rec, err := range c.parts.Reader.Tail(ctx, bus.OutboundStream, c.account.outbound(), first) {
		switch {
		case err != nil:
			return nil, err
		case rec.Seq > last:
			return l, nil
		}
		if out, err := readOutbound(rec.Data); err == nil {
			key := chatKey(placeOf(&out))
			l.keys[rec.Seq] = key
			l.missing[key]++
		}
	}
	return l, nil
}
