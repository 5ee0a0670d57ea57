package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// OrderWithin is how long a call waits for a host to report, unless it is given
// another time.
const OrderWithin = 10 * time.Second

// errNoReport is why an order has no report: it is stored, and no host has said
// in time what became of it.
var errNoReport = errors.New("no host answers")

// An Outcome is what became of an answer or of the order to stop.
type Outcome struct {
	// Stored is the stream that keeps the order, because no host has taken it in
	// time; the next one will. Empty: a host has carried it out.
	Stored string
	// Waiting is what was answered.
	Waiting Waiting
	// Session is the key of the session that was stopped.
	Session string
}

// A RefusedError is the error of an order that a host has refused: it came too
// late, or does not fit.
type RefusedError struct{ Why bus.Error }

// Error is why, in the words of the host.
func (e *RefusedError) Error() string { return e.Why.Message }

// A reporting is an order for an agent, and where its host reports.
type reporting struct {
	client *Client
	inbox  *nats.Subscription
}

func (c *Client) listenForReport() (*reporting, error) {
	inbox, err := c.nc.SubscribeSync(c.nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("listen for the report of a host: %w", err)
	}
	return &reporting{c, inbox}, nil
}

func (r *reporting) close() { _ = r.inbox.Unsubscribe() } // the connection may be gone

// give publishes the order and waits for the report. No report, which is known at
// once when no host runs, leaves the order stored in a stream.
func (r *reporting) give(ctx context.Context, agent string, msg *nats.Msg, within time.Duration) (stored string, err error) {
	hosts, err := r.client.HostsOf(ctx, agent)
	if err != nil {
		return "", err
	}
	ack, err := r.client.store(ctx, msg)
	if err != nil || len(hosts) == 0 {
		return streamOf(ack), err
	}
	report, err := awaitReport(ctx, r.inbox, cmp.Or(within, OrderWithin))
	switch {
	case errors.Is(err, errNoReport):
		return ack.Stream, nil
	case err == nil && report.Error != nil:
		err = &RefusedError{*report.Error}
	}
	return "", err
}

func streamOf(ack *jetstream.PubAck) string {
	if ack == nil {
		return ""
	}
	return ack.Stream
}

func awaitReport(ctx context.Context, inbox *nats.Subscription, within time.Duration) (bus.Route, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoReport)
	defer cancel()
	msg, err := inbox.NextMsgWithContext(ctx)
	switch {
	case ctx.Err() != nil:
		return bus.Route{}, context.Cause(ctx)
	case err != nil:
		return bus.Route{}, err
	}
	return bus.DecodeRoute(msg.Data)
}

// storeWithin bounds how long a message is sent again until NATS confirms it: it may restart.
const storeWithin = 30 * time.Second

// store signs a message as the operator's and publishes it, again while NATS does not confirm
// it: its id makes it one message. Before a host has run there is no key, and none is needed.
func (c *Client) store(ctx context.Context, msg *nats.Msg) (*jetstream.PubAck, error) {
	within, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	signer, err := signing.Read(within, c.js)
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return nil, hintAway(err)
	}
	signer.Sign(msg)
	ack, err := bus.Again(within, func(ctx context.Context) (*jetstream.PubAck, error) { return c.js.PublishMsg(ctx, msg) })
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return nil, ErrNotStored
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("it has %d bytes, and this NATS takes %d in a message; shorten it: %w", len(msg.Data), c.nc.MaxPayload(), err)
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("NATS has not confirmed it within %s; it may be stored all the same", storeWithin)
	}
	return ack, hintAway(err)
}
