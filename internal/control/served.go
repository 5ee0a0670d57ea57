package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/agents/engine"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

// servedWithin is how long the next host has to say what it serves.
const servedWithin = time.Second

// ServedBy asks all hosts of the fleet, this one included, what they serve.
func ServedBy(ctx context.Context, nc *nats.Conn) (engine.Served, error) {
	served := engine.Served{}
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return served, fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(client.StatusSubject, sub.Subject, nil); err != nil {
		return served, fmt.Errorf("ask hosts: %w", err)
	}
	for {
		status, err := nextHost(ctx, sub)
		switch {
		case ctx.Err() != nil:
			return served, fmt.Errorf("ask hosts: %w", context.Cause(ctx))
		case errors.Is(err, context.DeadlineExceeded) && served.Hosts > 0:
			return served, nil
		case err != nil:
			return served, fmt.Errorf("ask hosts: %w", err)
		}
		served.Hosts++
		for _, a := range status.Agents {
			served.Agents = append(served.Agents, a.ID)
		}
	}
}

func nextHost(ctx context.Context, sub *nats.Subscription) (client.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return client.Status{}, err
	}
	return client.ReadStatus(msg.Data)
}
