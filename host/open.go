package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/signing"
	"agenthost/bus/streams"
	"agenthost/internal/natsserver"
)

// open connects to NATS and serves until ctx ends.
func (h *Host) open(outer context.Context) error {
	ctx, end := context.WithCancelCause(outer)
	defer end(nil)
	b, err := awaitSpace(ctx, h, func() (*bus.Bus, error) {
		return natsserver.Open(ctx, bus.Options{Name: h.opt.Name, Log: h.log, Config: h.opt.Config.NATS})
	})
	if err != nil {
		return err
	}
	defer b.Close()
	defer background(ctx, func(ctx context.Context) error {
		select {
		case <-b.Closed():
			end(fmt.Errorf("NATS has closed the connection for good: %w", b.NC.LastError()))
		case <-ctx.Done():
		}
		return nil
	})()
	err = h.serve(ctx, b)
	if ctx.Err() != nil && outer.Err() == nil {
		return context.Cause(ctx) // and whoever has started the host starts it again
	}
	return err
}

// serve works with a bus until ctx ends.
func (h *Host) serve(ctx context.Context, b *bus.Bus) error {
	h.bus.Store(b)
	h.waiting = time.Now() // a reader has seen the state that follows
	h.traces = h.openTraces(b)
	// runs that end after ctx need the store as well
	defer background(context.WithoutCancel(ctx), h.watchStore, h.logStuck, h.traces.Run)()
	h.setState(stateWaiting)
	if err := b.Ready(ctx); err != nil {
		return err
	}
	if err := h.provision(ctx, b); err != nil {
		return err
	}
	defer background(context.WithoutCancel(ctx), func(ctx context.Context) error {
		h.signer.Keep(ctx, b.JS, h.log)
		return nil
	})()
	h.setState(stateStarting)
	a, err := h.assemble(b)
	if err != nil {
		return err
	}
	return a.serve(ctx)
}

const (
	provisionWithin = 15 * time.Second
	provisionEvery  = time.Second // tried again
	admittedWithin  = time.Second
)

// provision makes the streams, and the key of the fleet. While servers of a cluster are away it waits for them.
func (h *Host) provision(ctx context.Context, b *bus.Bus) error {
	if err := admitted(ctx, b); err != nil {
		return err
	}
	waiting, mover := bus.WaitLog{Log: h.log}, b.Mover()
	for {
		err := h.provisionOnce(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || !bus.Transient(err) && !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, streams.ErrLanes) || errors.Is(err, bus.ErrUnusable) {
			return err
		}
		err = withDenied(err, b.Denied())
		h.setState("streams cannot be made: " + err.Error())
		waiting.Say(err, "streams cannot be made; trying again")
		mover.Failed(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(provisionEvery):
		}
	}
}

// withDenied adds the permission that NATS has refused, if any, to the error of a request without an answer.
func withDenied(err, denied error) error {
	if denied == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w; %w", err, denied)
}

func (h *Host) provisionOnce(ctx context.Context, b *bus.Bus) error {
	cfg := h.opt.Config.NATS
	ctx, cancel := context.WithTimeout(ctx, provisionWithin)
	defer cancel()
	err := streams.Provision(ctx, b.JS, cfg.Replicas, cfg.Lanes, h.log)
	if err == nil {
		h.signer, err = signing.Open(ctx, b.JS)
	}
	return err
}

// admitted refuses the embedded server of another host where this one has not
// the token: it would wait for streams that it may not see.
func admitted(ctx context.Context, b *bus.Bus) error {
	ctx, cancel := context.WithTimeout(ctx, admittedWithin)
	defer cancel()
	if bus.Anonymous(ctx, b.NC) {
		return fmt.Errorf("use NATS at %s: %w: %s", b.NC.ConnectedAddr(), bus.ErrDenied, bus.LogInHint)
	}
	return nil
}
