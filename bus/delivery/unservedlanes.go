package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// LanesStart is the first message of a stream that its lanes have not passed over when
// their number was changed.
func LanesStart(cfg jetstream.StreamConfig) uint64 { return startOf(cfg) }

// UnservedLanes are the numbers of the lanes of a stream that no host asks for
// messages.
func UnservedLanes(ctx context.Context, stream jetstream.Stream, count int) ([]int, error) {
	infos, err := oldLanes(ctx, stream)
	if err != nil {
		return nil, err
	}
	idle := map[string]bool{}
	for _, info := range infos {
		idle[info.Name] = pinnedClient(info) == "" && info.NumWaiting == 0
	}
	var lanes []int
	for n := range count {
		if idle[LaneName(n)] {
			lanes = append(lanes, n)
		}
	}
	return lanes, nil
}

// RemoveUnserved removes the consumer of a lane that no host asks for messages, and that has
// none left.
func RemoveUnserved(ctx context.Context, js jetstream.JetStream, stream, name string) error {
	consumer, err := js.Consumer(ctx, stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up consumer %s: %w", name, err)
	}
	info := consumer.CachedInfo()
	if pinnedClient(info) != "" || info.NumWaiting > 0 || info.NumPending > 0 || info.NumAckPending > 0 {
		return nil
	}
	if err := js.DeleteConsumer(ctx, stream, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("delete consumer %s: %w", name, err)
	}
	return nil
}
