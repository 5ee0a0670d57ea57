package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// SetLanes gives a stopped fleet another number of lanes. The consumers of the
// old ones are deleted; the new ones begin where the slowest of the old was, so
// that nothing is missed. What comes again is known by its id.
//
// A fleet that is served is left alone.
func SetLanes(ctx context.Context, js jetstream.JetStream, lanes int) error {
	for _, name := range []string{InboundStream, RoutesStream} {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("there is no stream %s: no fleet has run here; set nats.lanes instead", name)
		}
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", name, err)
		}
		if err := setLanes(ctx, js, stream, lanes); err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
	}
	return nil
}

func setLanes(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, lanes int) error {
	old, err := oldLanes(ctx, stream)
	if err != nil {
		return err
	}
	cfg := stream.CachedInfo().Config
	from := startOf(cfg)
	for i, info := range old {
		if pinnedClient(info) != "" {
			return fmt.Errorf("a host serves %s; stop every host first", info.Name)
		}
		if floor := info.AckFloor.Stream + 1; i == 0 || floor < from {
			from = floor
		}
	}
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[lanesKey] = strconv.Itoa(lanes)
	cfg.Metadata[lanesFrom] = strconv.FormatUint(from, 10)
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("note the number of lanes: %w", err)
	}
	for _, info := range old {
		if err := stream.DeleteConsumer(ctx, info.Name); err != nil {
			return fmt.Errorf("delete consumer %s: %w", info.Name, err)
		}
	}
	return nil
}

// startOf is where lanes made now would start.
func startOf(cfg jetstream.StreamConfig) uint64 {
	from, err := strconv.ParseUint(cfg.Metadata[lanesFrom], 10, 64)
	if err != nil {
		return 1
	}
	return from
}

// oldLanes lists the consumers of lanes.
func oldLanes(ctx context.Context, stream jetstream.Stream) ([]*jetstream.ConsumerInfo, error) {
	list := stream.ListConsumers(ctx)
	var lanes []*jetstream.ConsumerInfo
	for info := range list.Info() {
		var n int
		if _, err := fmt.Sscanf(info.Name, "lane-%d", &n); err == nil {
			lanes = append(lanes, info)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	return lanes, nil
}
