package delivery

import (
	"context"
	"fmt"
	"math"

	"github.com/nats-io/nats.go/jetstream"
)

// A server with replicas may lose count when the leader of a consumer changes soon after a reset,
// or had a full disk: it takes for acknowledged what is not, and delivers it to no host any more.
// So a lane knows by itself what it was given and has not acknowledged. As long as no other host
// has the lane, the server owes that.

// firstOwed is the lowest sequence that the server owes, 0 where it owes none.
func (h *heldMessages) firstOwed() (first uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lower := func(seq uint64) {
		if first == 0 || seq < first {
			first = seq
		}
	}
	for seq, d := range h.bySeq {
		if !d.settled {
			lower(seq)
		}
	}
	for seq := range h.left {
		lower(seq)
	}
	return first
}

// notOwed says that the server owes nothing before a sequence: it was deleted, or another host has
// done it.
func (h *heldMessages) notOwed(before uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for seq, d := range h.bySeq {
		d.settled = d.settled || seq < before
	}
	for seq := range h.left {
		if seq < before {
			delete(h.left, seq)
		}
	}
}

// begin says that deliveries restart at a message.
func (h *heldMessages) begin(seq uint64) {
	h.notOwed(seq)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given = 0
}

// nothingOwed is notOwed of all.
const nothingOwed = math.MaxUint64

// disown says that the server owes nothing where another host has had the lane since this one, as
// far as the note of its owner says; pin is the one that this host has now.
func (l *Lane) disown(note ownership, pin string) {
	if note.Host != l.cfg.Host || note.Pin != "" && note.Pin != l.pin && note.Pin != pin {
		l.held.notOwed(nothingOwed)
	}
}

// miscounts reports whether the server counts as acknowledged what it owes.
func (l *Lane) miscounts(info *jetstream.ConsumerInfo) bool {
	first := l.held.firstOwed()
	return first > 0 && first <= info.AckFloor.Stream
}

// deliverAgain has the server deliver again, in order, all from the first message that is not
// acknowledged; info is what it says of the consumer, and noted how far all is.
func (l *Lane) deliverAgain(ctx context.Context, info *jetstream.ConsumerInfo, noted mark) error {
	var reset *jetstream.ConsumerResetResponse
	var err error
	if noted.Done < info.AckFloor.Stream {
		if l.miscounts(info) {
			l.log.Warn().Uint64("acknowledged", info.AckFloor.Stream).Uint64("from", noted.Done+1).
				Msg("the server counts as acknowledged what is not; asking for it again")
		}
		reset, err = l.js.ResetConsumerToSequence(ctx, l.cfg.Stream, l.cfg.Name, max(noted.Done+1, info.Config.OptStartSeq))
	} else {
		reset, err = l.js.ResetConsumer(ctx, l.cfg.Stream, l.cfg.Name)
	}
	if err != nil {
		return fmt.Errorf("reset consumer: %w", err)
	}
	if now := reset.ConsumerInfo; now != nil && now.NumPending+uint64(now.NumAckPending) == 0 { // no message will say where it begins
		l.held.notOwed(nothingOwed)
	}
	return nil
}
