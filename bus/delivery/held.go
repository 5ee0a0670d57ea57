package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// extendEvery keeps the ack timer of each held message from running out.
const extendEvery = 2500 * time.Millisecond

// heldMessages are those that a lane has handed out and that its agents have not
// settled yet.
type heldMessages struct {
	mu    sync.Mutex
	bySeq map[uint64]*Delivery
	left  map[uint64]bool // given up unfinished, and owed by the server
	given uint64          // the newest since deliveries restarted
	bytes int
	freed chan struct{} // a token whenever one is removed
}

func newHeldMessages() heldMessages {
	return heldMessages{bySeq: map[uint64]*Delivery{}, left: map[uint64]bool{}, freed: make(chan struct{}, 1)}
}

func (h *heldMessages) add(d *Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bySeq[d.own] = d
	d.settled = d.own <= h.given && !h.left[d.own] // a copy, on its way as this host acknowledged the message
	h.given = max(h.given, d.own)
	delete(h.left, d.own)
	h.bytes += len(d.Data())
}

func (h *heldMessages) remove(d *Delivery) {
	h.mu.Lock()
	h.drop(d)
	h.mu.Unlock()
	h.free()
}

// drop is called with the lock held.
func (h *heldMessages) drop(d *Delivery) {
	delete(h.bySeq, d.own)
	if d.left.Load() && !d.settled {
		h.left[d.own] = true
	}
	h.bytes -= len(d.Data())
}

// free says that there is room.
func (h *heldMessages) free() {
	select {
	case h.freed <- struct{}{}:
	default:
	}
}

// renew replaces the ack address of a message that is held already, and its pin.
func (h *heldMessages) renew(seq uint64, m message, pin string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d, ok := h.bySeq[seq]
	if ok {
		d.msg.Store(&m)
		d.pin, d.settled = pin, false
	}
	return ok
}

// under reports whether the pin under which d came holds.
func (h *heldMessages) under(d *Delivery, holds func(pin string) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return holds(d.pin)
}

// leaveUnless is Leave of d for one of its agents, unless the pin under which it came holds.
// A redelivery at the same time either renews d first, or is a new delivery.
func (h *heldMessages) leaveUnless(d *Delivery, holds func(pin string) bool) bool {
	h.mu.Lock()
	if holds(d.pin) {
		h.mu.Unlock()
		return false
	}
	d.left.Store(true)
	last := d.holders.Add(-1) <= 0
	if last {
		h.drop(d)
	}
	h.mu.Unlock()
	if last {
		h.free()
	}
	return true
}

func (h *heldMessages) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.bySeq)
}

// extend reports to the server, until ctx ends, that every held message is in
// progress.
func (h *heldMessages) extend(ctx context.Context, log zerolog.Logger) {
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, d := range h.list() {
			if err := d.msg.Load().inProgress(); err != nil {
				log.Debug().Err(err).Msg("extend held messages")
				break
			}
		}
	}
}

func (h *heldMessages) list() []*Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := make([]*Delivery, 0, len(h.bySeq))
	for _, d := range h.bySeq {
		held = append(held, d)
	}
	return held
}
