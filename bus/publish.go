package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Stored is called once a publish is settled: seq is the message's sequence
// in its stream. resent tells that the message was sent more than once, so
// that a refusal may be the echo of a first copy that did arrive. It runs on
// the connection's own goroutine and must not block.
type Stored func(seq uint64, resent bool, err error)

// A Publisher publishes to streams without waiting: whatever the server has
// not acknowledged is sent again, for as long as the Publisher runs, through
// reconnects and restarts of NATS. So every message must be idempotent, by a
// Nats-Msg-Id or by an expected sequence. Messages of one caller that must
// keep their order are published one after the other's Stored.
type Publisher struct {
	js  jetstream.JetStream
	log zerolog.Logger

	mu      sync.Mutex
	pending map[*nats.Msg]*publish
	retry   []*publish
	closed  bool
	wake    chan struct{}
	idle    chan struct{} // closed and replaced whenever pending runs empty
}

type publish struct {
	msg    *nats.Msg
	stored Stored
	tries  int
	due    time.Time
}

// ErrClosed settles what is still unacknowledged when the Publisher stops.
var ErrClosed = errors.New("publisher is closed")

const (
	ackTimeout  = 5 * time.Second
	resendFirst = 50 * time.Millisecond
	resendMost  = 2 * time.Second
	// asyncPending is out of reach: what is in flight is bounded by what the
	// lanes hold, and a stalled publish would stall the goroutine that reads
	// the acknowledgements it waits for.
	asyncPending = 1 << 20
)

// NewPublisher makes a Publisher on nc. domain is the JetStream domain, or empty.
func NewPublisher(nc *nats.Conn, domain string, log zerolog.Logger) (*Publisher, error) {
	p := &Publisher{
		log: log, pending: map[*nats.Msg]*publish{},
		wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	opts := []jetstream.JetStreamOpt{
		jetstream.WithPublishAsyncMaxPending(asyncPending),
		jetstream.WithPublishAsyncTimeout(ackTimeout),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, ack *jetstream.PubAck) {
			p.settle(m, ack.Sequence, nil)
		}),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			p.settle(m, 0, err)
		}),
	}
	var err error
	if domain != "" {
		p.js, err = jetstream.NewWithDomain(nc, domain, opts...)
	} else {
		p.js, err = jetstream.New(nc, opts...)
	}
	return p, err
}

// Publish sends msg and returns at once; stored is called when it is settled,
// also when sending fails at once.
func (p *Publisher) Publish(msg *nats.Msg, stored Stored) {
	pub := &publish{msg: msg, stored: stored}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		stored(0, false, ErrClosed)
		return
	}
	p.pending[msg] = pub
	p.mu.Unlock()
	p.send(pub)
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

func (p *Publisher) send(pub *publish) {
	// No retry inside the client: its own would hide that a message was resent.
	if _, err := p.js.PublishMsgAsync(pub.msg, jetstream.WithRetryAttempts(0)); err != nil {
		p.settle(pub.msg, 0, err)
	}
}

func (p *Publisher) settle(msg *nats.Msg, seq uint64, err error) {
	p.mu.Lock()
	pub, ok := p.pending[msg]
	if !ok {
		p.mu.Unlock()
		return
	}
	if err != nil && Transient(err) && !p.closed && !p.js.Conn().IsClosed() {
		p.resendLater(pub, err)
		p.mu.Unlock()
		return
	}
	delete(p.pending, msg)
	if len(p.pending) == 0 {
		close(p.idle)
		p.idle = make(chan struct{})
	}
	p.mu.Unlock()
	pub.stored(seq, pub.tries > 0, err)
}

// resendLater is called with the lock held.
func (p *Publisher) resendLater(pub *publish, err error) {
	delay := min(resendFirst<<min(pub.tries, 10), resendMost)
	if pub.tries == 4 {
		p.log.Warn().Err(err).Str("subject", pub.msg.Subject).Msg("publish is not acknowledged; sending again until it is")
	}
	pub.tries++
	pub.due = time.Now().Add(delay)
	p.retry = append(p.retry, pub)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run sends again what was not acknowledged. It returns when ctx ends, having
// settled everything that is left with ErrClosed.
func (p *Publisher) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.close()
			return nil
		case <-p.wake:
		case <-timer.C:
		}
		timer.Reset(p.resendDue(time.Now()))
	}
}

// resendDue sends what is due and returns the time until the next is.
func (p *Publisher) resendDue(now time.Time) time.Duration {
	p.mu.Lock()
	var due, later []*publish
	next := time.Hour
	for _, pub := range p.retry {
		if wait := pub.due.Sub(now); wait > 0 {
			later, next = append(later, pub), min(next, wait)
		} else {
			due = append(due, pub)
		}
	}
	p.retry = later
	p.mu.Unlock()
	for _, pub := range due {
		p.send(pub)
	}
	return next
}

// Flush waits until nothing is unacknowledged.
func (p *Publisher) Flush(ctx context.Context) error {
	for {
		p.mu.Lock()
		left, idle := len(p.pending), p.idle
		p.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *Publisher) close() {
	p.mu.Lock()
	p.closed = true
	left := p.pending
	p.pending, p.retry = map[*nats.Msg]*publish{}, nil
	close(p.idle)
	p.idle = make(chan struct{})
	p.mu.Unlock()
	for _, pub := range left {
		pub.stored(0, pub.tries > 0, ErrClosed)
	}
}

// Transient reports whether a refused publish may succeed when it is tried
// again: NATS is away, a stream has no leader or no room just now.
func Transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch api.ErrorCode {
		case errStreamFull, errNoStorage:
			return true
		}
		return api.Code >= 500
	}
	return !errors.Is(err, nats.ErrMaxPayload) && !errors.Is(err, nats.ErrConnectionClosed) &&
		!errors.Is(err, nats.ErrBadSubject) && !errors.Is(err, nats.ErrInvalidConnection)
}

// Refused reports whether the server turned a publish down because another
// host has written to its subject since: the fence.
func Refused(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == errWrongLastSeq || api.ErrorCode == errWrongLastSeqConst)
}

// Error codes of the server that nats.go has no constant for, or not all of.
const (
	errWrongLastSeq      jetstream.ErrorCode = 10071
	errWrongLastSeqConst jetstream.ErrorCode = 10164
	errNoStorage         jetstream.ErrorCode = 10047
	errStreamFull        jetstream.ErrorCode = 10077
)
