package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
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
		if !bus.OutOfSpace(err) {
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

// watchStore looks after the store of b until the returned function is called:
// runs that end after ctx need it as well.
func watchStore(ctx context.Context, b *bus.Bus) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.WatchStore(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// storeFault is why the embedded server does not store what it is sent.
func (h *Host) storeFault() error {
	if b := h.Bus(); b != nil {
		return b.StoreFault()
	}
	return nil
}

// stuck is why what the host publishes is not stored. An external server whose
// disk was full does not answer, and takes nothing more until it is restarted.
func (h *Host) stuck() error {
	err := h.posts.Load().Stuck()
	if err == nil || !h.opt.Config.NATS.External() || !silent(err) {
		return err
	}
	return fmt.Errorf("%w; NATS at %s answers but stores nothing: see its log, and if its disk is full, free space there and restart that server. The host goes on by itself then",
		err, h.Bus().NC.ConnectedUrlRedacted())
}

func silent(err error) bool {
	return errors.Is(err, jetstream.ErrAsyncPublishTimeout) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
