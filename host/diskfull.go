package host

import (
	"context"
	"fmt"
	"time"

	"agenthost/internal/natsserver"
)

const (
	spaceEvery = time.Second // a start on a full disk is tried again
	spaceSaid  = time.Minute // and said again
)

// awaitSpace calls start again for as long as it fails because a disk is full.
func awaitSpace[T any](ctx context.Context, h *Host, start func() (T, error)) (T, error) {
	var said time.Time
	for {
		v, err := start()
		if !natsserver.OutOfSpace(err) {
			return v, err
		}
		h.setState(fmt.Sprintf("%s: %v; free space there. The host starts by itself then", stateStarting, err))
		if time.Since(said) >= spaceSaid {
			said = time.Now()
			h.log.Error().Err(err).Msg("start: the disk is full; waiting for space")
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(spaceEvery):
		}
	}
}

// watchStore looks after the store of the embedded server until ctx ends.
func (h *Host) watchStore(ctx context.Context) error {
	h.Bus().WatchStore(ctx)
	return ctx.Err()
}

// storeFault is why the embedded server does not store what it is sent.
func (h *Host) storeFault() error {
	if b := h.Bus(); b != nil {
		return b.StoreFault()
	}
	return nil
}
