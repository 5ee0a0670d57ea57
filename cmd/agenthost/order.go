package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// orderWithin is how long a command waits for the word of a host.
const orderWithin = 10 * time.Second

// errNoWord tells that an order is stored and no host has said what became of
// it.
var errNoWord = errors.New("no host answers")

// An order is something that the host of an agent is to do to one of its runs.
// It goes by the agent's stream, and so is carried out later when no host is
// there.
type order struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	inbox *nats.Subscription
}

// newOrder connects for one order. The caller closes its connection.
func (a *app) newOrder(ctx context.Context) (*order, error) {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("listen for the word of a host: %w", err)
	}
	return &order{nc, js, inbox}, nil
}

// A word is what a host says to an order.
type word struct {
	bus.Route
	stream string // that has the order
}

// give publishes an order for an agent and waits for the word of its host; the
// error is errNoWord when there is none, at once when no host runs.
func (o *order) give(ctx context.Context, agent string, msg *nats.Msg, within time.Duration) (word, error) {
	hosts, err := askHostsOf(ctx, o.nc, agent)
	if err != nil {
		return word{}, err
	}
	if ids := hosts.agents(); len(hosts) > 0 && !slices.Contains(ids, agent) {
		return word{}, noSuchAgent(agent, ids)
	}
	ack, err := o.store(ctx, msg)
	if err != nil {
		return word{}, err
	}
	w := word{stream: ack.Stream}
	if len(hosts) == 0 {
		return w, errNoWord
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoWord)
	defer cancel()
	reply, err := o.inbox.NextMsgWithContext(ctx)
	if ctx.Err() != nil {
		return w, context.Cause(ctx)
	}
	if err == nil {
		w.Route, err = bus.DecodeRoute(reply.Data)
	}
	return w, err
}

func (o *order) store(ctx context.Context, msg *nats.Msg) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if err := sign(ctx, o.js, msg); err != nil {
		return nil, err
	}
	ack, err := o.js.PublishMsg(ctx, msg)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return nil, errors.New("no stream takes it, as no host has run on this NATS yet")
	}
	return ack, err
}

// sign signs a message for an agent as the operator's. Before a host of this version
// has run there is no key, and none is needed.
func sign(ctx context.Context, js jetstream.JetStream, msg *nats.Msg) error {
	signer, err := signing.Read(ctx, js)
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return err
	}
	signer.Sign(msg)
	return nil
}
