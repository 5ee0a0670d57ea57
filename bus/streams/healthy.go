package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Healthy returns nil when each stream that a message passes on its way has a leader that
// answers before ctx ends and takes what hosts write, and so each bucket without which lanes
// cannot move, nothing can be asked and nothing fires.
func Healthy(ctx context.Context, js jetstream.JetStream) error {
	var askers []func() error
	ask := func(kind, name string, want jetstream.StreamConfig) {
		askers = append(askers, func() error {
			stream, err := js.Stream(ctx, want.Name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return fmt.Errorf("%s %s is gone; a host that starts makes it again: %w", kind, name, err)
			}
			if err != nil {
				return fmt.Errorf("ask for %s %s: %w", kind, name, err)
			}
			return cmp.Or(checkLed(stream.CachedInfo()), fault(stream.CachedInfo().Config, want))
		})
	}
	for _, name := range []string{bus.InboundStream, bus.RoutesStream, bus.SchedulesStream, bus.SessionsStream, bus.OutboundStream} {
		ask("stream", name, streamConfig(name, 1))
	}
	for _, name := range []string{bus.LanesBucket, bus.WaitingBucket, bus.SchedulesBucket} {
		ask("bucket", name, bucketStream(bucketPrefix+name, 1))
	}
	return bus.AtOnce(askers)
}

// fault is why hosts that run cannot work with have.
func fault(have, want jetstream.StreamConfig) error {
	return cmp.Or(checkUsable(have), checkSubjects(have, want))
}

func checkSubjects(have, want jetstream.StreamConfig) error {
	missing := slices.DeleteFunc(slices.Clone(want.Subjects), func(subject string) bool { return takes(have, subject) })
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("stream %s does not take %s; a host that starts adds it", have.Name, strings.Join(missing, ", "))
}

func takes(have jetstream.StreamConfig, subject string) bool {
	return slices.ContainsFunc(have.Subjects, func(h string) bool { return bus.Matches(h, subject) })
}
