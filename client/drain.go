package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agenthost/internal/audit"
)

// DrainSubject is where a host is told to end.
const DrainSubject = "agenthost.drain"

// drainWithin bounds the answer of the host.
const drainWithin = 5 * time.Second

// Drain has a host end in good order, by its name: what it serves moves to the others.
// It returns once the host has begun; Left waits for its end. That there is none of
// that name is an *UnknownError.
func (c *Client) Drain(ctx context.Context, host string) error {
	hosts, err := c.EveryHost(ctx)
	if err != nil {
		return err
	}
	if names := hosts.Names(); !slices.Contains(names, host) {
		return &UnknownError{What: "host", Name: host, Known: names}
	}
	data, err := json.Marshal(map[string]string{"host": host})
	if err != nil {
		return err
	}
	answered := false
	err = c.order(ctx, DrainSubject, data, drainWithin, func(data []byte) (bool, error) {
		answered = len(data) > 0 // an error is of a host that has not heard of that one
		return answered, nil
	})
	if err == nil && !answered {
		err = fmt.Errorf("no answer of %s; it may be of another version", host)
	}
	if err != nil {
		return fmt.Errorf("drain %s: %w", host, err)
	}
	c.note(ctx, audit.Entry{Action: "drain", Target: host})
	return nil
}

// leftEvery is how often Left looks.
const leftEvery = 250 * time.Millisecond

// Left waits until a host has ended. Where that takes NATS away, it was its embedded
// server.
func (c *Client) Left(ctx context.Context, host string) error {
	for {
		hosts, err := c.Hosts(ctx)
		if !c.nc.IsConnected() && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains(hosts.Names(), host) {
			return nil
		}
		select {
		case <-time.After(leftEvery):
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of %s: %w", host, ctx.Err())
		}
	}
}
