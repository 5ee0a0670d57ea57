package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Entries of the metadata of a stream.
const (
	LanesKey  = "agenthost.lanes"
	LanesFrom = "agenthost.lanes_from" // where lanes made later start
)

// An idle host asks for messages again and again: between two requests it is not seen, and so
// it is looked for several times.
const (
	looks     = 3
	lookAgain = 100 * time.Millisecond
)

var errNoStream = errors.New("there is no stream")

// SetLanes gives a stopped fleet another number of lanes. The consumers of the
// old ones are deleted; the new ones begin where the slowest of the old was, so
// that nothing is missed. What comes again is known by its id.
//
// A fleet that is served is left alone.
func SetLanes(ctx context.Context, js jetstream.JetStream, lanes int) error {
	var fleet []StoppedLanes
	for _, name := range bus.LaneStreams() {
		s, err := Stopped(ctx, js, name)
		if name == bus.SchedulesStream && errors.Is(err, errNoStream) {
			continue // the next host makes it, out of what an older version has left
		}
		if err != nil {
			return err
		}
		fleet = append(fleet, s)
	}
	for _, s := range fleet {
		if err := s.remove(ctx, js); err != nil {
			return fmt.Errorf("stream %s: %w", s.cfg.Name, err)
		}
	}
	return note(ctx, js, fleet[0].cfg, LanesKey, strconv.Itoa(lanes)) // last: until then only the old number starts
}

// StoppedLanes are the lanes of a stream while no host serves them.
type StoppedLanes struct {
	Stream jetstream.Stream
	cfg    jetstream.StreamConfig
	lanes  []*jetstream.ConsumerInfo
	From   uint64 // the first message that one of them is not done with
}

// Stopped looks at the lanes of a stream; an error says that one is served.
func Stopped(ctx context.Context, js jetstream.JetStream, name string) (StoppedLanes, error) {
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return StoppedLanes{}, fmt.Errorf("%w %s: no fleet has run here; set nats.lanes instead", errNoStream, name)
	}
	if err != nil {
		return StoppedLanes{}, fmt.Errorf("look up stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	s := StoppedLanes{Stream: stream, cfg: info.Config, From: startOf(info.Config)}
	if s.cfg.Metadata == nil {
		s.cfg.Metadata = map[string]string{}
	}
	for look := range looks {
		if look > 0 {
			bus.Pause(ctx, lookAgain)
		}
		if s.lanes, err = oldLanes(ctx, stream); err != nil {
			return StoppedLanes{}, fmt.Errorf("stream %s: %w", name, err)
		}
		for _, lane := range s.lanes {
			if pinnedClient(lane) != "" || lane.NumWaiting > 0 { // an idle fleet has no pin, it only asks
				return StoppedLanes{}, fmt.Errorf("stream %s: a host serves %s; stop every host first", name, lane.Name)
			}
		}
	}
	if len(s.lanes) > 0 {
		s.From = max(s.From, info.State.LastSeq+1)
	}
	for _, lane := range s.lanes {
		if lane.NumPending > 0 || lane.NumAckPending > 0 { // else its floor may be far behind
			s.From = max(startOf(info.Config), min(s.From, lane.AckFloor.Stream+1))
		}
	}
	return s, nil
}

// remove deletes the lanes, having noted where those to come begin.
func (s StoppedLanes) remove(ctx context.Context, js jetstream.JetStream) error {
	if err := note(ctx, js, s.cfg, LanesFrom, strconv.FormatUint(s.From, 10)); err != nil {
		return err
	}
	for _, info := range s.lanes {
		if err := s.Stream.DeleteConsumer(ctx, info.Name); err != nil {
			return fmt.Errorf("delete consumer %s: %w", info.Name, err)
		}
	}
	return nil
}

// note writes into the metadata of a stream, and into cfg.
func note(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig, key, value string) error {
	cfg.Metadata[key] = value
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("note %s: %w", key, err)
	}
	return nil
}

// startOf is where lanes made now would start.
func startOf(cfg jetstream.StreamConfig) uint64 {
	from, err := strconv.ParseUint(cfg.Metadata[LanesFrom], 10, 64)
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
		if IsLane(info.Name) {
			lanes = append(lanes, info)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	return lanes, nil
}

// IsLane reports whether a consumer is that of a lane.
func IsLane(consumer string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(consumer, "lane-"))
	return err == nil && n >= 0 && consumer == LaneName(n)
}

// LaneCount is how many lanes a fleet has that is configured for lanes.
func LaneCount(lanes int) int {
	if lanes == 0 {
		return 4
	}
	return lanes
}
