package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
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

// watchStores looks after the store of b until the returned function is called:
// runs that end after ctx need it as well.
func (h *Host) watchStores(ctx context.Context, b *bus.Bus) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { b.WatchStore(ctx) })
	watching.Go(func() { h.logStuck(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}
}

// storeFault is why the embedded server does not store what it is sent.
func (h *Host) storeFault() error {
	if b := h.Bus(); b != nil {
		return b.StoreFault()
	}
	return nil
}
