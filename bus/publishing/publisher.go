// Package publishing publishes to streams without waiting, and sends again what the
// server has not acknowledged.
package publishing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Stored is called once a publish is settled: seq is the message's sequence
// in its stream. resent tells that the message was sent more than once, so
// that a refusal may be the echo of a first copy that did arrive. As a rule it
// runs on the goroutine that reads the acknowledgements, and must not block; it
// may publish.
type Stored func(seq uint64, resent bool, err error)

// A Publisher publishes to streams without waiting: whatever the server has
// not acknowledged is sent again, for as long as the Publisher runs, through
// reconnects and restarts of NATS. So every message must be idempotent, by a
// Nats-Msg-Id or by an expected sequence. Messages of one caller that must
// keep their order are published one after the other's Stored.
//
// It does by itself what the client's PublishMsgAsync is there for, because
// every message of the product passes here. That took a saturated host about
// 6 µs for each message and 3 µs for its acknowledgement, and fifteen of the 42
// allocations on the way to the disk and back: for a future, a random token, a
// timer of its own and encoding/json.
type Publisher struct {
	nc     *nats.Conn
	log    zerolog.Logger
	prefix string // of the subjects that acknowledgements come on; a number follows
	acks   *nats.Subscription
	lost   chan nats.Status // speaks when what was sent last may not have arrived
	signer atomic.Pointer[signing.Signer]

	mu      sync.Mutex
	tickets []*ticket // by number; nil is one that is not used again
	free    []*ticket // the last to come is the first to go
	pending int       // tickets that a publish has
	next    time.Time // when Run looks for what is due
	closed  bool
	wake    chan struct{} // tells Run that next is earlier now
	idle    chan struct{} // closed once nothing is pending; nil when nobody waits for that
}

// A publish is in flight, until it is acknowledged or has failed, and then
// waits to be sent again. All its copies have one ticket: whichever is
// acknowledged, the message is stored, and an answer that takes longer than
// ackTimeout counts nevertheless.
type publish struct {
	*ticket
	msg    *nats.Msg
	stored Stored
	sends  int
	waits  bool
	due    time.Time // in flight: for the acknowledgement; else to be sent again
	since  time.Time // it was sent first
	last   error     // why it is sent again
}

// ErrClosed settles what is still unacknowledged when the Publisher stops.
var ErrClosed = errors.New("publisher is closed")

const (
	ackTimeout  = 5 * time.Second
	resendFirst = 50 * time.Millisecond
	resendMost  = 2 * time.Second
)

// NewPublisher makes a Publisher on nc. Messages may be published at once, but
// it is Run that sends again what gets lost, and that cleans up.
func New(nc *nats.Conn, log zerolog.Logger) (*Publisher, error) {
	p := &Publisher{
		nc: nc, log: bus.Few(log), prefix: nc.NewInbox() + ".", wake: make(chan struct{}, 1),
	}
	var err error
	if p.acks, err = nc.Subscribe(p.prefix+"*", p.answered); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	// One that is dropped here would cost a resend, or an echo.
	if err := p.acks.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	p.lost = nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	return p, nil
}

// Publish sends msg and returns at once; stored is called when it is settled,
// also when sending fails at once. The reply subject is the Publisher's own,
// whatever msg has. msg must stay as it is, also once it is settled: another
// copy may just be on its way.
func (p *Publisher) Publish(msg *nats.Msg, stored Stored) {
	p.signer.Load().Sign(msg)
	now := time.Now()
	pub := &publish{msg: msg, stored: stored, since: now}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		stored(0, false, ErrClosed)
		return
	}
	p.takeTicket(pub)
	pub.takeOff(now)
	p.mu.Unlock()
	p.send(pub)
}

// SignWith signs the route messages that are published from now on.
func (p *Publisher) SignWith(s *signing.Signer) { p.signer.Store(s) }

// Signer is what route messages are signed with, nil while there is nothing.
func (p *Publisher) Signer() *signing.Signer {
	if p == nil {
		return nil
	}
	return p.signer.Load()
}

// PublishWait is Publish for those who have nothing else to do meanwhile.
func (p *Publisher) PublishWait(ctx context.Context, msg *nats.Msg) (uint64, error) {
	type result struct {
		seq uint64
		err error
	}
	done := make(chan result, 1)
	p.Publish(msg, func(seq uint64, _ bool, err error) { done <- result{seq, err} })
	select {
	case r := <-done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// takeOff notes that pub is sent now.
func (pub *publish) takeOff(now time.Time) {
	pub.sends++
	pub.waits = false
	pub.due = now.Add(ackTimeout)
}

// send is called without the lock: the connection may block, and stored too
// may be called.
func (p *Publisher) send(pub *publish) {
	err := p.nc.PublishMsg(&nats.Msg{
		Subject: pub.msg.Subject, Reply: pub.reply, Header: pub.msg.Header, Data: pub.msg.Data,
	})
	if err == nil {
		return
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) { // a buffer of no size, see connectOptions
		err = nats.ErrDisconnected
	}
	p.mu.Lock()
	if pub.holder != pub { // a copy of it was answered
		p.mu.Unlock()
		return
	}
	p.settle(pub, ack{}, err)
}

// answered takes what a stream, or the server in its stead, says to a publish.
func (p *Publisher) answered(m *nats.Msg) {
	number, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, p.prefix), replyBase, 64)
	if err != nil {
		return // we never asked
	}
	a, err := readAck(m)
	p.mu.Lock()
	pub := p.holder(number)
	// Another copy was answered, or this is what the ticket's last one was told.
	if pub == nil || pub.told(a) {
		p.mu.Unlock()
		return
	}
	p.settle(pub, a, err)
}

// settle is called with the lock held, and lets go of it.
func (p *Publisher) settle(pub *publish, a ack, err error) {
	if err != nil && bus.Transient(err) {
		p.resendLater(pub, err)
		p.mu.Unlock()
		return
	}
	resent := pub.sends > 1
	p.giveBack(pub.ticket, a, err == nil && !resent && !a.duplicate)
	p.tellIdle()
	p.mu.Unlock()
	pub.stored(a.seq, resent, err)
}

// resendLater is called with the lock held.
func (p *Publisher) resendLater(pub *publish, err error) {
	if pub.waits {
		return
	}
	if pub.sends == 5 {
		p.log.Warn().Err(err).Str("subject", pub.msg.Subject).Msg("publish is not acknowledged; sending again until it is")
	}
	pub.waits, pub.last = true, err
	pub.due = time.Now().Add(min(resendFirst<<min(pub.sends-1, 10), resendMost))
	if pub.due.Before(p.next) {
		p.next = pub.due
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// Run sends again what was not acknowledged. It returns when ctx ends, having
// settled everything that is left with ErrClosed.
func (p *Publisher) Run(ctx context.Context) error {
	timer := time.NewTimer(0) // some may have failed before
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.close()
			return nil
		case <-p.lost:
			p.disconnected()
		case <-p.wake:
		case <-timer.C:
		}
		timer.Reset(time.Until(p.resendDue(time.Now())))
	}
}

// disconnected fails what is in flight: nobody answers to that any more, and
// there is no use in waiting for it until ackTimeout. On a connection that is
// closed the next sending fails for good.
func (p *Publisher) disconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pub := range p.inFlight() {
		p.resendLater(pub, nats.ErrDisconnected)
	}
}

// resendDue sends what is due and returns when more may be. It looks at all
// that is pending, and so not more often than each resendFirst.
func (p *Publisher) resendDue(now time.Time) (next time.Time) {
	var due []*publish
	wait := ackTimeout // what is published from now on is not due before
	p.mu.Lock()
	for pub := range p.inFlight() {
		switch {
		case now.Before(pub.due):
		case pub.waits:
			pub.takeOff(now)
			due = append(due, pub)
		default:
			p.resendLater(pub, jetstream.ErrAsyncPublishTimeout)
		}
		wait = min(wait, max(pub.due.Sub(now), resendFirst))
	}
	next = now.Add(wait)
	p.next = next
	p.mu.Unlock()
	for _, pub := range due {
		p.send(pub)
	}
	return next
}

// Stuck is why the message that was published first of those that are not
// acknowledged is sent again and again; nil when none is for longer than an
// acknowledgement may take. What only tells watchers does not count.
func (p *Publisher) Stuck() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var oldest *publish
	for pub := range p.inFlight() {
		if pub.last != nil && !strings.HasPrefix(pub.msg.Subject, bus.EventsPrefix) && (oldest == nil || pub.since.Before(oldest.since)) {
			oldest = pub
		}
	}
	if oldest == nil || time.Since(oldest.since) < ackTimeout {
		return nil
	}
	return fmt.Errorf("publish on %s is not acknowledged: %w", oldest.msg.Subject, oldest.last)
}

// Flush waits until nothing is unacknowledged.
func (p *Publisher) Flush(ctx context.Context) error {
	for {
		idle := p.whenIdle()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// whenIdle is closed once nothing is pending, and nil when nothing is.
func (p *Publisher) whenIdle() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == 0 {
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	return p.idle
}

// tellIdle is called with the lock held.
func (p *Publisher) tellIdle() {
	if p.idle != nil && p.pending == 0 {
		close(p.idle)
		p.idle = nil
	}
}

func (p *Publisher) close() {
	p.nc.RemoveStatusListener(p.lost)
	_ = p.acks.Unsubscribe() // fails when the connection is closed, and the subscription with it
	p.mu.Lock()
	p.closed = true
	left := slices.Collect(p.inFlight())
	for _, pub := range left {
		pub.holder = nil
	}
	p.tickets, p.free, p.pending = nil, nil, 0
	p.tellIdle()
	p.mu.Unlock()
	for _, pub := range left {
		pub.stored(0, pub.sends > 1, ErrClosed)
	}
}
