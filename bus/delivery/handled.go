package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Handled is up to which sequence all that the lanes of a fleet take of a subject was
// acknowledged, by whichever hosts; taken is false where no lane takes it.
func Handled(ctx context.Context, js jetstream.JetStream, stream, subject string) (upTo uint64, taken bool, err error) {
	s, err := js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look up stream %s: %w", stream, err)
	}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		takes := func(filter string) bool { return bus.Overlap(filter, subject) }
		if !OfLane(info.Config) || !slices.ContainsFunc(filtersOf(info.Config), takes) {
			continue
		}
		if !taken || info.AckFloor.Stream < upTo {
			upTo = info.AckFloor.Stream
		}
		taken = true
	}
	if err := list.Err(); err != nil {
		return 0, false, fmt.Errorf("list consumers of %s: %w", stream, err)
	}
	return upTo, taken, nil
}
