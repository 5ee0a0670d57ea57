package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// OfLane reports whether a consumer of one of the bus.LaneStreams is that of a lane, of
// agents or of a partition.
func OfLane(cfg jetstream.ConsumerConfig) bool {
	return cfg.Durable != "" && slices.Contains(cfg.PriorityGroups, laneGroup)
}

// Restored makes the lanes of a fleet that was restored from a backup ready for its first
// host: those that had them are gone, and of all that is stored any message may have been
// tried. No host may be running.
func Restored(ctx context.Context, js jetstream.JetStream) error {
	for _, name := range bus.LaneStreams() {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", name, err)
		}
		list := stream.ListConsumers(ctx)
		var lanes []*jetstream.ConsumerInfo // the whole list first: the client gives it 5 seconds
		for info := range list.Info() {
			if OfLane(info.Config) {
				lanes = append(lanes, info)
			}
		}
		if err := list.Err(); err != nil {
			return fmt.Errorf("list lanes of %s: %w", name, err)
		}
		for _, info := range lanes {
			if err := restored(ctx, js, name+"."+info.Name, stream.CachedInfo().State.LastSeq); err != nil {
				return fmt.Errorf("lane %s of %s: %w", info.Name, name, err)
			}
		}
	}
	return nil
}

func restored(ctx context.Context, js jetstream.JetStream, key string, last uint64) error {
	owner := ownershipStore{js, key, zerolog.Nop()}
	note, err := owner.read(ctx)
	if err != nil {
		return err
	}
	note.Pin, note.Handed, note.Tried = "", 0, last
	return owner.write(ctx, note)
}
