package delivery

import (
	"context"
	"math"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// receive takes one message from the consumer.
func (l *Lane) receive(ctx context.Context, consumer jetstream.Consumer, asking *pulls, m message) {
	if l.ending {
		return // it comes again after the takeover, as all that is not acknowledged
	}
	meta, err := m.Metadata()
	if err != nil {
		l.log.Error().Err(err).Msg("message without metadata: ignored")
		return
	}
	count := meta.Sequence.Consumer
	pin, ok := l.pinOf(ctx, consumer, asking, m, count)
	if !ok {
		return // it comes again
	}
	l.latest.Store(&m)
	if pin != l.pin || !l.Serving() || l.misses(count) {
		t := takeover{pin: pin, first: meta}
		if l.resets(t) {
			// Not acknowledged, as all that comes until the reset: it comes again. The count of
			// a consumer that was reset already may well pass by the next that was expected.
			l.ending, l.last = true, outOfOrder
			l.takeOverNext(t)
			return
		}
		if !l.takeOver(ctx, consumer, t) {
			return
		}
	}
	if l.resetting && count != 1 {
		return // delivered before the reset; it comes again, in order
	}
	seq := meta.Sequence.Stream
	m, ok = l.whole(ctx, m, seq)
	if !ok { // it comes again, before what is newer
		l.ending, l.last = true, outOfOrder
		l.takeOverNext(takeover{pin: pin, first: meta})
		return
	}
	l.resetting, l.last = false, count
	if count == 1 {
		l.held.begin(seq)
	}
	d := &Delivery{
		Subject: m.Subject, Seq: seq, Stored: meta.Timestamp, lane: l, pin: l.pin, own: seq, stream: l.cfg.Stream,
		Tried:  meta.NumDelivered > 1 || seq <= l.tried,
		Handed: meta.NumDelivered == 1 && seq <= l.handed,

		Doubtful: seq <= l.doubted,
	}
	d.msg.Store(&m)
	if l.cfg.HandedOn {
		d.restore()
	}
	defer l.progress.pass(l.passed(seq), meta.NumPending)
	if l.cfg.HandedOn && isSeal(m) {
		_ = m.ack() // else it comes again
		return
	}
	if l.held.renew(seq, m, l.pin) {
		return
	}
	d.Hold(1)
	l.waitForRoom(ctx)
	l.cfg.Brake.wait(ctx)
	l.held.add(d)
	l.given = max(l.given, seq)
	l.deliver(d)
}

// pinOf is the pin under which the server has sent the message that it counts as count, and which
// requests are to name from now on. What the headers say counts for a pin that is known: a
// stranger does not know it. Of any other the server is asked. It is not ok where the server
// does not tell whose the pin is, or it has passed.
func (l *Lane) pinOf(ctx context.Context, consumer jetstream.Consumer, asking *pulls, m message, count uint64) (pin string, ok bool) {
	pin = m.pin()
	if pin == "" || pin != l.pin && !asking.knows(pin) {
		ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
		defer cancel()
		info, err := bus.Again(ctx, consumer.Info)
		if err != nil {
			l.few.Debug().Err(err).Msg("ask for the pin of a message: failed; it comes again")
			return "", false
		}
		said := pin
		// Pins do not come back: one that was ours and is the server's was so throughout. Any
		// other is ours if it came with this message, behind which nothing was delivered.
		pin = pinnedClient(info)
		if pin == "" || pin != said && pin != l.pin && !asking.knows(pin) && info.Delivered.Consumer != count {
			return "", false
		}
	}
	asking.know(pin)
	return pin, true
}

// outOfOrder is a count that none follows.
const outOfOrder = math.MaxUint64

// misses reports whether messages that the server has delivered did not come:
// lost with a connection or with the server, they would come again only after
// newer ones. The server counts its deliveries, from 1 after a reset, which may be
// that of another host.
func (l *Lane) misses(count uint64) bool {
	if l.resetting { // or the first one after the reset is lost
		return count != 1 && time.Since(l.resetAt) > pinnedTTL
	}
	return count != l.last+1
}
