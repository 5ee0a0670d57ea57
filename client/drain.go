package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DrainSubject is where a host is told to end.
const DrainSubject = "agenthost.drain"

// drainWithin bounds the answer of the host.
const drainWithin = 5 * time.Second

// Drain has a host end in good order, by its name: what it serves moves to the others.
// It returns once the host has begun; Left waits for its end. That there is none of
// that name is an *UnknownError.
func (c *Client) Drain(ctx context.Context, host string) error {
	if _, err := c.Host(ctx, host); err != nil {
		return err
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
	return nil // the host has it in the audit log
}

// leftEvery is how often Left looks.
const leftEvery = 250 * time.Millisecond

// Left waits until a host has ended. Where that takes NATS away, it was its embedded
// server.
func (c *Client) Left(ctx context.Context, host string) error {
	for {
		_, err := c.Host(ctx, host)
		if !c.nc.IsConnected() && ctx.Err() == nil {
			return nil
		}
		_, left := errors.AsType[*UnknownError](err)
		switch {
		case left, errors.Is(err, ErrNoHost):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-time.After(leftEvery):
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of %s: %w", host, ctx.Err())
		}
	}
}
