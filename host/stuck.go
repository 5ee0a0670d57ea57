package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

const stuckEvery = 5 * time.Second

// stuck is why what the host publishes is not stored. An external server whose
// disk was full does not answer, and takes nothing more until it is restarted.
func (h *Host) stuck() error {
	posts := h.posts.Load()
	if posts == nil {
		return nil
	}
	err := posts.Stuck()
	if err == nil || !h.opt.Config.NATS.External() || !silent(err) {
		return err
	}
	return fmt.Errorf("%w; NATS at %s answers but stores nothing: see its log, and if its disk is full, free space there and restart that server. The host goes on by itself then",
		err, h.Bus().NC.ConnectedUrlRedacted())
}

func silent(err error) bool {
	return errors.Is(err, jetstream.ErrAsyncPublishTimeout) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// logStuck logs when an external server stores nothing, and when it does again,
// until ctx ends. What the embedded one does, the Bus logs.
func (h *Host) logStuck(ctx context.Context) error {
	if !h.opt.Config.NATS.External() {
		return nil
	}
	tick := time.NewTicker(stuckEvery)
	defer tick.Stop()
	said := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		switch err := h.stuck(); {
		case (silent(err) || bus.Limited(err)) && !said:
			said = true
			h.log.Error().Err(err).Msg("publish: nothing is stored")
		case err == nil && said:
			said = false
			h.log.Info().Msg("publish: messages are stored again")
		}
	}
}
