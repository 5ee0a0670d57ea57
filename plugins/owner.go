package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Timing of ownership. A dead owner loses its pin after pinnedTTL, and what it held
// is delivered again after ackWait at most.
const (
	ackWait    = 8 * time.Second
	pinnedTTL  = 6 * time.Second
	pullExpiry = 2 * time.Second
	lookEvery  = 1500 * time.Millisecond // for an owner, by the hosts that stand by
	lookOften  = 100 * time.Millisecond  // for replies that another owner has left
	lookWithin = 2 * time.Second
	// foreignAfter is how long the message with a new pin may take to get here, before
	// that pin counts as another host's.
	foreignAfter = time.Second
	claimTTL     = "30s"

	ownerGroup    = "owner"
	pullMessages  = 256
	maxAckPending = 32768
	pinHeader     = "Nats-Pin-Id"
)

// An election is one life of the account's consumer on this host, in which it may
// gain and lose the account. Only the goroutine of serve uses it.
type election struct {
	c        *Courier
	consumer jetstream.Consumer
	term     *term     // nil: this host does not own the account
	pin      string    // under which it does
	other    string    // a pin that is not known; ours comes with a message
	since    time.Time // it was seen
	count    uint64    // the consumer's of the last message
	heard    time.Time // NATS has answered last
}

// serve takes part in the election until ctx ends or the consumer is gone.
func (c *Courier) serve(ctx context.Context) error {
	consumer, err := c.ensureConsumer(ctx)
	if err != nil {
		return err
	}
	e := &election{c: c, consumer: consumer, heard: time.Now()}
	if err := e.takeBack(ctx); err != nil {
		return err
	}
	c.status.set(StateStandby)
	messages, troubles := make(chan jetstream.Msg), make(chan error, 1)
	done := make(chan struct{})
	consuming, err := consumer.Consume(
		func(m jetstream.Msg) {
			select {
			case messages <- m:
			case <-done:
			}
		},
		jetstream.PullPriorityGroup(ownerGroup), jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			select {
			case troubles <- err:
			default:
			}
		}),
	)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	closed := consuming.Closed()
	err = e.run(ctx, messages, troubles, closed)
	came := e.end(ctx, messages)
	consuming.Stop()
	close(done)
	<-closed
	e.resign(ctx, came)
	return err
}

func (e *election) run(ctx context.Context, messages <-chan jetstream.Msg, troubles <-chan error, closed <-chan struct{}) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	e.look(ctx)
	for often := false; ; {
		if soon := e.term != nil && (e.other != "" || e.term.outbox.waits()); soon != often {
			often = soon
			tick.Reset(map[bool]time.Duration{true: lookOften, false: lookEvery}[often])
		}
		select {
		case <-ctx.Done():
			return nil
		case m := <-messages:
			e.receive(m)
		case err := <-troubles:
			switch {
			case errors.Is(err, jetstream.ErrPinIDMismatch):
				e.look(ctx)
			case errors.Is(err, nats.ErrNoResponders):
				return errors.New("consumer: no responders")
			}
		case <-tick.C:
			e.look(ctx)
		case <-closed:
			return errors.New("the consumer is gone")
		}
	}
}

// look asks the server who owns the account. When no host does, it has the server
// choose one, which it does only together with a message.
func (e *election) look(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, lookWithin)
	defer cancel()
	asked := time.Now()
	info, err := e.consumer.Info(ctx)
	if err != nil {
		if e.term == nil && parent.Err() == nil {
			e.c.status.failed(StateNoNATS, err)
		}
		if e.term != nil && time.Since(e.heard) > pinnedTTL { // another host may own it by now
			e.c.log.Warn().Err(err).Msg("account: NATS is away; disconnecting from the platform until it is back")
			e.lose(StateNoNATS)
		}
		if e.term != nil { // it delivers nothing again meanwhile, or that is lost
			e.term.outbox.waitLonger()
		}
		return
	}
	e.heard, e.c.position = time.Now(), info.AckFloor.Stream
	if e.term == nil {
		e.c.status.set(StateStandby)
	}
	e.judge(info)
	if e.term == nil || pinnedClient(info) != e.pin { // what is held is to wait until it is known whose it is
		return
	}
	e.term.lease.renew(asked)
	if err := e.term.outbox.narrow(ctx, info); err != nil && parent.Err() == nil {
		e.c.few.Debug().Err(err).Msg("read what the last owner has left: failed; all chats wait")
	}
	e.term.outbox.barrier(info.NumAckPending, info.Delivered.Consumer <= e.count)
}

// judge takes what the server says about who owns the account.
func (e *election) judge(info *jetstream.ConsumerInfo) {
	switch pin := pinnedClient(info); {
	case pin == "":
		if info.NumPending == 0 {
			e.claim()
		}
	case e.term != nil && pin != e.pin && pin != e.other:
		e.other, e.since = pin, time.Now() // ours, if its message comes soon
	case e.term != nil && pin != e.pin && time.Since(e.since) > foreignAfter:
		e.c.log.Info().Msg("account: another host owns it now; standing by")
		e.lose(StateStandby)
	}
}

// claim gives the server a message with which it can choose an owner.
func (e *election) claim() {
	msg := nats.NewMsg(e.c.account.claim())
	msg.Header.Set("Nats-TTL", claimTTL)
	msg.Data = []byte(e.c.parts.Host)
	e.c.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			e.c.few.Debug().Err(err).Msg("claim account: failed; retrying")
		}
	})
}

// receive takes one message of the consumer.
func (e *election) receive(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		e.c.log.Error().Err(err).Msg("message without metadata is ignored")
		return
	}
	e.heard = time.Now()
	pin, count := m.Headers().Get(pinHeader), meta.Sequence.Consumer
	switch {
	case e.term == nil:
		e.gain(pin)
	case pin != e.pin: // it was lost and gained before another host had it
		e.keep(pin)
	case count != e.count+1: // the missing ones come later
		e.term.outbox.waitForOlder()
	}
	e.count = count
	if m.Subject() == e.c.account.claim() {
		if err := m.Ack(); err != nil {
			e.c.log.Debug().Err(err).Msg("ack claim")
		}
		return
	}
	e.term.outbox.take(m, meta)
}

func (e *election) gain(pin string) {
	e.pin, e.other, e.term = pin, "", newTerm(e.c)
	e.c.notes.setHolder(holder{Host: e.c.parts.Host, Pin: pin})
	e.c.log.Info().Msg("account: this host owns it")
}

func (e *election) keep(pin string) {
	e.pin, e.other = pin, ""
	e.c.notes.setHolder(holder{Host: e.c.parts.Host, Pin: pin})
	e.term.outbox.waitForOlder()
}

func (e *election) lose(state string) {
	e.term.abort()
	e.term, e.pin, e.other = nil, "", ""
	e.c.status.set(state)
}

// end ends the term in good order. The consumer is still asked for messages meanwhile,
// which keeps the account here until the platform is disconnected: no other host connects
// before. It returns those that came.
func (e *election) end(ctx context.Context, messages <-chan jetstream.Msg) (came []jetstream.Msg) {
	if e.term == nil || ctx.Err() == nil { // or the consumer is gone
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.term.end()
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case m := <-messages:
			e.heard = time.Now()
			if pin := m.Headers().Get(pinHeader); pin != e.pin {
				e.pin, e.other = pin, ""
			}
			came = append(came, m)
		case <-tick.C:
			if !e.keeps(context.WithoutCancel(ctx)) {
				e.c.log.Warn().Msg("account: another host may own it now; what is under way ends")
				e.term.endWork()
				<-ended
				e.lose(StateStandby)
				return nil
			}
		case <-ended:
			return came
		}
	}
}

// keeps reports whether the account is still ours while the term ends.
func (e *election) keeps(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	asked := time.Now()
	info, err := e.consumer.Info(ctx)
	if err != nil {
		return time.Since(e.heard) <= pinnedTTL
	}
	e.heard = time.Now()
	switch pin := pinnedClient(info); {
	case pin == e.pin:
		e.term.lease.renew(asked)
	case pin != "" && pin != e.other:
		e.other, e.since = pin, time.Now() // ours, if its message comes soon
	case pin != "":
		return time.Since(e.since) <= foreignAfter
	}
	return true
}

// resign lets the account go: what is not delivered comes at once to the host that owns it
// next.
func (e *election) resign(ctx context.Context, came []jetstream.Msg) {
	if e.term == nil {
		return
	}
	if ctx.Err() == nil { // the consumer is gone
		e.term.abort()
		return
	}
	e.term.outbox.giveBack()
	for _, m := range came {
		if err := m.Nak(); err != nil {
			e.c.log.Debug().Err(err).Msg("give back reply")
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	if err := e.unpin(ctx); err != nil {
		e.c.log.Warn().Err(err).Msg("release account: failed; another host takes it when the pin expires")
	}
}

// unpin lets the pin go, if it is ours.
func (e *election) unpin(ctx context.Context) error {
	info, err := e.consumer.Info(ctx)
	if err != nil || pinnedClient(info) != e.pin {
		return err
	}
	stream, err := e.c.parts.JS.Stream(ctx, bus.OutboundStream)
	if err != nil {
		return err
	}
	return stream.UnpinConsumer(ctx, e.c.account.consumer(), ownerGroup)
}

// takeBack unpins what an earlier life of this host still holds.
func (e *election) takeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	pin := pinnedClient(e.consumer.CachedInfo())
	if pin == "" {
		return nil
	}
	held, err := e.c.notes.holder(ctx)
	if err != nil || held.Host != e.c.parts.Host || held.Pin != pin {
		return err
	}
	e.c.log.Info().Msg("account: taking it back from before the restart")
	e.pin = pin
	defer func() { e.pin = "" }()
	return e.unpin(ctx)
}

func pinnedClient(info *jetstream.ConsumerInfo) string {
	for _, g := range info.PriorityGroups {
		if g.Group == ownerGroup {
			return g.PinnedClientID
		}
	}
	return ""
}
