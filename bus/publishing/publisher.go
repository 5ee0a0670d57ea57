// Package publishing publishes to streams without waiting, and sends again what the
// server has not acknowledged.
package publishing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A Stored is called once a publish is settled: seq is the message's sequence
// in its stream. resent reports that the message was sent more than once, so
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
	acks   *nats.Subscription
	lost   chan nats.Status // speaks when what was sent last may not have arrived
	signer atomic.Pointer[signing.Signer]

	mu      sync.Mutex
	flights inFlight
	next    time.Time // when Run looks for what is due
	closed  bool
	wake    chan struct{} // signals to Run that next is earlier now
}

// ErrClosed settles what is still unacknowledged when the Publisher stops.
var ErrClosed = errors.New("publisher is closed")

// New makes a Publisher on nc. Messages may be published at once, but
// it is Run that sends again what gets lost, and that cleans up.
func New(nc *nats.Conn, log zerolog.Logger) (*Publisher, error) {
	p := &Publisher{nc: nc, log: bus.Few(log), wake: make(chan struct{}, 1)}
	p.flights.prefix = nc.NewInbox() + "."
	var err error
	if p.acks, err = nc.Subscribe(p.flights.prefix+"*", p.answered); err != nil {
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
	if n := len(msg.Subject); n > bus.LongestSubject {
		stored(0, false, fmt.Errorf("%w: it has %d bytes, the most are %d", nats.ErrBadSubject, n, bus.LongestSubject))
		return
	}
	p.signer.Load().Sign(msg)
	now := time.Now()
	pub := &publish{msg: msg, stored: stored, since: now}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		stored(0, false, ErrClosed)
		return
	}
	p.flights.add(pub)
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
	if !p.flights.has(pub) { // a copy of it was answered
		p.mu.Unlock()
		return
	}
	p.settle(pub, ack{}, err)
}

// answered takes what a stream, or the server in its stead, says to a publish.
func (p *Publisher) answered(m *nats.Msg) {
	number, ok := p.flights.number(m.Subject)
	if !ok {
		return // we never asked
	}
	a, err := readAck(m)
	p.mu.Lock()
	pub := p.flights.pending[number]
	if pub == nil { // another copy was answered, or this one again
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
	p.flights.remove(pub)
	p.mu.Unlock()
	pub.stored(a.seq, resent, err)
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

func (p *Publisher) whenIdle() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flights.whenIdle()
}

func (p *Publisher) close() {
	p.nc.RemoveStatusListener(p.lost)
	_ = p.acks.Unsubscribe() // fails when the connection is closed, and the subscription with it
	p.mu.Lock()
	p.closed = true
	left := p.flights.clear()
	p.mu.Unlock()
	for _, pub := range left {
		pub.stored(0, pub.sends > 1, ErrClosed)
	}
}
