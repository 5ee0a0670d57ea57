package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

func provisionStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, lanes int, log zerolog.Logger) error {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		want.FirstSeq = firstSeq(ctx, js, want.Name)
		stream, err = js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another host was quicker
			stream, err = js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("make stream %s: %w", want.Name, explainOverlap(ctx, js, want, err))
	}
	have := stream.CachedInfo().Config
	if err := checkLanes(have, lanes); err != nil {
		return err
	}
	if err := checkUsable(have); err != nil {
		return err
	}
	reportForeign(have, want, log)
	if wider, changed := widen(have, want); changed {
		if _, err := js.UpdateStream(ctx, wider); err != nil {
			return fmt.Errorf("widen stream %s: %w", want.Name, explainOverlap(ctx, js, want, err))
		}
	}
	return nil
}

// firstSeq is where a stream begins. What has no id is known by its sequence, so
// one that is made again goes on beyond all that the logs of sessions may know.
func firstSeq(ctx context.Context, js jetstream.JetStream, name string) uint64 {
	if !slices.Contains(bus.LaneStreams(), name) {
		return 0
	}
	sessions, err := js.Stream(ctx, bus.SessionsStream)
	if err != nil || sessions.CachedInfo().State.LastSeq == 0 { // a new fleet
		return 0
	}
	return uint64(time.Now().UnixMilli())
}

const errSubjectOverlap jetstream.ErrorCode = 10065

// explainOverlap says whose subjects are in the way.
func explainOverlap(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != errSubjectOverlap {
		return err
	}
	for _, subject := range want.Subjects {
		names := js.StreamNames(ctx, jetstream.WithStreamListSubject(subject))
		for name := range names.Name() {
			if name != want.Name {
				return fmt.Errorf("stream %s keeps subjects of %q too; narrow its subjects or delete it: %w", name, subject, err)
			}
		}
	}
	return err
}

// ErrLanes is wrapped by the refusal of another number of lanes.
var ErrLanes = errors.New("the fleet was made with another number of lanes")

func checkLanes(have jetstream.StreamConfig, lanes int) error {
	if have.Name != bus.InboundStream || have.Metadata[delivery.LanesKey] == "" || have.Metadata[delivery.LanesKey] == strconv.Itoa(lanes) {
		return nil
	}
	return fmt.Errorf("%w: %s, and nats.lanes says %d; set nats.lanes to %s, or stop every host and run: agenthost lanes %d",
		ErrLanes, have.Metadata[delivery.LanesKey], lanes, have.Metadata[delivery.LanesKey], lanes)
}

func checkUsable(have jetstream.StreamConfig) error {
	var why string
	switch {
	case have.NoAck:
		why = "acknowledges nothing (no_ack)"
	case have.Sealed:
		why = "is sealed"
	case have.Mirror != nil:
		why = "is a mirror"
	case have.Name == bus.SessionsStream && have.Retention == jetstream.InterestPolicy:
		why = "keeps nothing (retention interest)"
	default:
		return nil
	}
	return fmt.Errorf("stream %s %s: %w", have.Name, why, bus.ErrUnusable)
}
