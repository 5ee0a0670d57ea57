package plugins

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/internal/crash"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	mostDeliveries = 32 // at once
	extendEvery    = 2500 * time.Millisecond
	olderWithin    = ackWait + leaseFor
)

// mostHeldBytes is how much is held of envelopes; more are read again when it is their
// turn.
var mostHeldBytes = 64 << 20

// An outbox holds the replies of a term: a queue for each chat, each worked on by a
// goroutine of its own while it has any.
type outbox struct {
	t       *term
	c       *Courier
	slots   chan struct{}
	workers sync.WaitGroup

	mu          sync.Mutex
	held        map[uint64]*item // not settled, by sequence
	bytes       int              // of their envelopes
	chats       map[string]*chat
	older       bool // replies that another owner has left may come yet
	olderUntil  time.Time
	set         []*item   // what came meanwhile, of chats that may have any
	left        *leftover // which chats those are; nil: it is not known
	pausedUntil time.Time
}

// An item is a reply that is not settled.
type item struct {
	seq      uint64
	key      string // of its chat
	subject  string
	header   nats.Header
	sentAt   time.Time // when it was stored; what the envelope says is another's clock
	envelope []byte    // nil: it is read when it is needed
	ack      atomic.Pointer[acknowledgement]
}

func newOutbox(t *term) *outbox {
	return &outbox{
		t: t, c: t.c, slots: make(chan struct{}, mostDeliveries),
		held: map[uint64]*item{}, chats: map[string]*chat{},
	}
}

// take takes one reply from the consumer. It is called by one goroutine, as barrier
// and waitForOlder are.
func (o *outbox) take(m jetstream.Msg, meta *jetstream.MsgMetadata) {
	seq := meta.Sequence.Stream
	if o.c.settled.has(seq) { // its acknowledgement was lost
		o.ack(o.acknowledgement(m))
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if it := o.held[seq]; it != nil {
		it.ack.Store(o.acknowledgement(m))
		return
	}
	it, err := o.item(m, meta)
	if err != nil {
		o.c.few.Warn().Err(err).Uint64("seq", seq).Msg("reply is malformed; it goes nowhere")
		o.ack(o.acknowledgement(m))
		return
	}
	o.held[seq] = it
	o.left.arrived(seq)
	if o.older && o.left.holds(it) {
		o.set = append(o.set, it)
		return
	}
	o.enqueue(it)
}

func (o *outbox) item(m jetstream.Msg, meta *jetstream.MsgMetadata) (*item, error) {
	out, err := readOutbound(m.Data())
	if err != nil {
		return nil, err
	}
	if out.To == "" && out.Chat == "" && !o.c.limits.Whole {
		return nil, errors.New("it has neither to nor chat")
	}
	it := &item{
		seq: meta.Sequence.Stream, key: chatKey(placeOf(&out)), subject: m.Subject(), header: m.Headers(), sentAt: meta.Timestamp,
	}
	if now := time.Now(); it.sentAt.After(now) { // the clock of NATS is ahead
		it.sentAt = now
	}
	if o.bytes < mostHeldBytes {
		it.envelope = m.Data()
		o.bytes += len(it.envelope)
	}
	it.ack.Store(o.acknowledgement(m))
	return it, nil
}

func readOutbound(data []byte) (out bus.Outbound, err error) {
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("read envelope: %w", err)
	}
	return out, nil
}

func placeOf(out *bus.Outbound) Place {
	return Place{To: out.To, Chat: out.Chat, Thread: out.Thread}
}

// enqueue is called with the lock held.
func (o *outbox) enqueue(it *item) {
	ch := o.chat(it.key)
	ch.queue = append(ch.queue, it)
	if !ch.busy {
		ch.busy = true
		o.workers.Go(func() { o.work(ch) })
	}
}

// work settles the replies of one chat until all are settled, or the term ends.
func (o *outbox) work(ch *chat) {
	for {
		o.mu.Lock()
		if len(ch.queue) == 0 || o.t.open.Err() != nil {
			ch.busy = false
			o.drop(ch)
			o.mu.Unlock()
			return
		}
		it := ch.queue[0]
		o.mu.Unlock()
		if !o.settle(ch, it) {
			continue // the term ends
		}
		o.mu.Lock()
		ch.queue[0] = nil
		ch.queue = ch.queue[1:]
		delete(o.held, it.seq)
		o.bytes -= len(it.envelope)
		o.mu.Unlock()
	}
}

// settle delivers a reply, or makes it a dead letter, and acknowledges it. It is
// false when the term ends before.
func (o *outbox) settle(ch *chat, it *item) bool {
	d, err := o.delivery(ch, it)
	if err == nil {
		o.t.activities.replies(it.key, &d.out)
		err = d.deliver()
	}
	switch {
	case errors.Is(err, errTermEnds):
		return false
	case errors.Is(err, errGone):
		o.c.few.Warn().Uint64("seq", it.seq).Msg("reply is gone before it was delivered")
	case err == nil:
		o.c.status.change(func(s *Status) { s.Out++ })
	default:
		if err := d.bury(err); err != nil {
			return false
		}
		o.c.status.change(func(s *Status) { s.Dead++; s.LastError = err.Error() })
	}
	o.c.settled.add(it.seq)
	o.ack(it.ack.Load())
	o.c.taken.forget(d.out.ID)
	return true
}

// An acknowledgement is where the server waits for the word on a reply. The message itself is
// not kept: it holds all of the envelope.
type acknowledgement struct {
	nc *nats.Conn
	to string
}

func (o *outbox) acknowledgement(m jetstream.Msg) *acknowledgement {
	return &acknowledgement{o.c.parts.NC, m.Reply()}
}

// The words of JetStream.
const (
	ackDone       = "+ACK"
	ackInProgress = "+WPI"
	ackAgain      = "-NAK"
)

func (a *acknowledgement) say(word string) error { return a.nc.Publish(a.to, []byte(word)) }

func (o *outbox) ack(a *acknowledgement) {
	crash.Point("before-reply-ack")
	if err := a.say(ackDone); err != nil { // it comes again, and is known then
		o.c.log.Debug().Err(err).Msg("ack reply")
	}
	crash.Point("after-reply-ack")
}

// waitForOlder holds back what comes from now on: replies that another owner has
// left, or that were lost on their way, are delivered again when their time to be
// acknowledged is over, and are to go out before newer ones.
func (o *outbox) waitForOlder() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.older, o.olderUntil, o.left = true, time.Now().Add(olderWithin), nil
}

// waitLonger restarts the time within which older replies have to come.
func (o *outbox) waitLonger() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.olderUntil = time.Now().Add(olderWithin)
}

// waits reports whether newer replies are held back.
func (o *outbox) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.older
}

// barrier lets go what was held back once all replies that the server counts as not
// acknowledged are here, or have had their time to come. complete reports that all it has
// delivered is here: what is missing may have come again, and been lost again.
func (o *outbox) barrier(pending int, complete bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.older || pending > len(o.held) && (!complete || time.Now().Before(o.olderUntil)) {
		return
	}
	slices.SortFunc(o.set, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	for _, it := range o.set {
		o.enqueue(it)
	}
	o.older, o.set, o.left = false, nil, nil
}

// extend reports, until the term ends, that every held reply is in progress, as long as
// no other host can own the account.
func (o *outbox) extend() {
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	for {
		select {
		case <-o.t.work.Done():
			return
		case <-tick.C:
		}
		if !o.t.lease.valid() { // it may be the next owner's to deliver
			continue
		}
		for _, it := range o.list() {
			if err := it.ack.Load().say(ackInProgress); err != nil {
				o.c.log.Debug().Err(err).Msg("extend held replies")
				break
			}
		}
	}
}

// giveBack has the server deliver again at once, in order, what is not settled.
func (o *outbox) giveBack() {
	for _, it := range o.list() {
		if err := it.ack.Load().say(ackAgain); err != nil {
			o.c.log.Debug().Err(err).Msg("give back reply")
		}
	}
}

// list is what is held, the oldest first.
func (o *outbox) list() []*item {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*item, 0, len(o.held))
	for _, it := range o.held {
		list = append(list, it)
	}
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// waiting is how many replies are not settled, and when the oldest was sent.
func (o *outbox) waiting() (n int, oldest time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, it := range o.held {
		if oldest.IsZero() || it.sentAt.Before(oldest) {
			oldest = it.sentAt
		}
	}
	return len(o.held), oldest
}
