package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// A Paused is a consumer of a lane that an operator of NATS has paused: what comes for it waits.
type Paused struct {
	Stream, Name string
	Left         time.Duration
}

// PausedLanes are the consumers of lanes that are paused.
func PausedLanes(ctx context.Context, js jetstream.JetStream) (paused []Paused, err error) {
	for _, name := range bus.LaneStreams() {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // the next host makes it
		}
		if err != nil {
			return nil, fmt.Errorf("look at stream %s: %w", name, err)
		}
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			if info.Paused {
				paused = append(paused, Paused{name, info.Name, info.PauseRemaining})
			}
		}
		if err := list.Err(); err != nil {
			return nil, fmt.Errorf("list consumers of %s: %w", name, err)
		}
	}
	return paused, nil
}
