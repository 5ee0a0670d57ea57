package publishing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
)

const (
	ackTimeout      = 5 * time.Second
	ackAfterTrouble = time.Second // of what had to be sent again
	resendFirst     = 50 * time.Millisecond
	resendMost      = 2 * time.Second
)

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

// disconnected fails what is in flight: no answer to that comes any more, and
// there is no use in waiting for it until ackTimeout. On a connection that is
// closed the next sending fails for good.
func (p *Publisher) disconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pub := range p.flights.all() {
		p.resendLater(pub, nats.ErrDisconnected)
	}
}

// resendDue sends what is due and returns when more may be. It looks at all
// that is pending, and so not more often than each resendFirst.
func (p *Publisher) resendDue(now time.Time) (next time.Time) {
	var due []*publish
	wait := ackTimeout // what is published from now on is not due before
	p.mu.Lock()
	for pub := range p.flights.all() {
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
// acknowledgement may take. Events, which only watchers read, do not count.
func (p *Publisher) Stuck() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var oldest *publish
	for pub := range p.flights.all() {
		if pub.last != nil && !strings.HasPrefix(pub.msg.Subject, bus.EventsPrefix) && (oldest == nil || pub.since.Before(oldest.since)) {
			oldest = pub
		}
	}
	if oldest == nil || time.Since(oldest.since) < ackTimeout {
		return nil
	}
	return fmt.Errorf("publish on %s is not acknowledged: %w", oldest.msg.Subject, bus.ExplainLimit(oldest.last))
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
