package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Ask has the lane ask for messages, as it does from the start, or not: then another
// host is to serve it. It returns at once; see Asks.
func (l *Lane) Ask(on bool) {
	if l.idle.Swap(!on) == !on {
		return
	}
	select {
	case l.turned <- struct{}{}:
	default:
	}
}

// Asks reports whether the lane asks the server for messages. Once it does not, all
// that has come is handed out.
func (l *Lane) Asks() bool { return l.asks.Load() }

// rests waits while the lane is not to ask, and reports whether it has waited. Before
// that the consumer is made, once: the lane counts as up.
func (l *Lane) rests(ctx context.Context) bool {
	if !l.idle.Load() {
		return false
	}
	select {
	case <-l.up:
	default:
		if _, err := l.ensure(ctx); err != nil {
			return false // serve says so, and is tried again
		}
		l.once.Do(func() { close(l.up) })
	}
	for l.idle.Load() {
		select {
		case <-l.turned:
		case <-ctx.Done():
			return true
		}
	}
	return true
}

// ask asks for messages until ctx ends or the lane is to rest. Again reports that it has
// stopped asking to take the lane over, and is to go on.
func (l *Lane) ask(ctx context.Context, consumer jetstream.Consumer, asking *pulls) (again bool, err error) {
	silent := make(chan struct{}, 1)
	select {
	case <-l.due: // of a time before
	default:
	}
	l.ending = false
	err = asking.start(
		func(m *nats.Msg) { l.receive(ctx, consumer, asking, message{m, l.js.Conn()}) },
		func(err error) { l.trouble(err, silent) },
	)
	if err != nil {
		return false, fmt.Errorf("consume: %w", err)
	}
	l.once.Do(func() { close(l.up) })
	l.asks.Store(true)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			asking.stop()
			<-asking.closed
			return false, nil
		case <-l.turned:
			if l.idle.Load() {
				asking.drain() // what has come is handed out
				<-asking.closed
				l.rested = asking
				return false, nil
			}
		case t := <-l.due:
			asking.stop()
			<-asking.closed
			l.takeOver(ctx, consumer, t)
			return true, nil
		case <-look.C:
			if l.forgotten(ctx) {
				asking.stop()
				<-asking.closed
				return false, nil // it begins again, by a reset
			}
		case <-asking.closed:
			return false, errors.New("the consumer is gone")
		case <-silent: // it went unnoticed, while no pull was waiting
			asking.stop()
			<-asking.closed
			return false, errors.New("consumer: no responders")
		}
	}
}

// settleDeliveries returns when nothing can be on its way to this lane, which has stopped
// asking: the server has read so, as it answers a request that came behind. What this lane has
// acknowledged before counts by then too.
//
// A consumer is reset only then. When one with replicas is reset among deliveries, the
// server records those behind the reset as made, but not what it then delivers again from
// before them; its next leader takes that for acknowledged, and it is lost.
func (l *Lane) settleDeliveries(ctx context.Context, pin string) error {
	pull, err := emptyPull(pin)
	if err == nil {
		_, err = bus.Again(ctx, func(ctx context.Context) (*nats.Msg, error) {
			return l.js.Conn().RequestWithContext(ctx, l.pullSubject(), pull)
		})
	}
	if err != nil {
		return fmt.Errorf("wait for deliveries: %w", err)
	}
	l.settleAcks(ctx)
	return nil
}

// settleWithin is the time for settleAcks.
const settleWithin = time.Second

// settleAcks returns when the server has worked off what this lane has acknowledged: it does so in
// their order, apart from all requests. A reset that comes before would deliver such a message
// again, and its next owner would take the server to have lost count when the acknowledgement
// counts at last. Where the server does not answer, that is what happens.
func (l *Lane) settleAcks(ctx context.Context) {
	m := l.latest.Load()
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	if _, err := m.nc.RequestWithContext(ctx, m.Reply, inProgress); err != nil {
		l.log.Debug().Err(err).Msg("wait for acknowledgements: failed; what they are for may be redelivered")
	}
}
