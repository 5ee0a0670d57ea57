// Package streams makes the streams and buckets of a fleet, and describes those that
// are there.
package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/upgrade"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// progressEvery is how often it is logged that NATS has not answered yet.
const progressEvery = 5 * time.Second

// Provision makes the streams and buckets that are missing and widens those
// that lack something the host needs. It narrows nothing: a setting that
// another program chose is reported and stays. lanes is the number of lanes the
// fleet is configured for; a fleet that was made with another is an error.
func Provision(ctx context.Context, js jetstream.JetStream, replicas, lanes int, log zerolog.Logger) error {
	replicas, lanes = max(replicas, 1), delivery.LaneCount(lanes)
	if _, err := js.StreamNameBySubject(ctx, bus.RestoreSubject); err == nil {
		return ErrRestoring
	}
	if err := upgrading(js, replicas, log).Run(ctx); err != nil {
		return bus.NotYet(explain(err, replicas))
	}
	var makers []func() error
	progress := log.Sample(&zerolog.BurstSampler{Burst: 1, Period: progressEvery})
	add := func(name string, provision func(ctx context.Context) error) {
		makers = append(makers, func() error { return bus.InAttempts(ctx, progress.With().Str("stream", name).Logger(), provision) })
	}
	for _, want := range streamConfigs(replicas) {
		if want.Name == bus.InboundStream {
			want.Metadata = map[string]string{delivery.LanesKey: strconv.Itoa(lanes)}
		}
		add(want.Name, func(ctx context.Context) error { return provisionStream(ctx, js, want, lanes, log) })
	}
	for _, want := range bucketConfigs(replicas) {
		add(want.Bucket, func(ctx context.Context) error { return provisionBucket(ctx, js, want, log) })
	}
	add(bus.FilesBucket, func(ctx context.Context) error { return provisionFiles(ctx, js, replicas, log) })
	return bus.NotYet(explain(bus.AtOnce(makers), replicas))
}

// ErrRestoring is returned while a backup is restored, or its restore was killed.
var ErrRestoring = errors.New("the restore of a backup has not ended; wait for it, or run it again: agenthost restore DIR")

// upgrading is the upgrade of what an older version has left.
func upgrading(js jetstream.JetStream, replicas int, log zerolog.Logger) *upgrade.Upgrade {
	return &upgrade.Upgrade{
		JS: js, Log: log,
		MakeLanes: func(ctx context.Context) error {
			return provisionBucket(ctx, js, bucketConfig(bus.LanesBucket, replicas), zerolog.Nop()) // Provision reports
		},
		MakeSchedules: func(ctx context.Context) error {
			return provisionStream(ctx, js, streamConfig(bus.SchedulesStream, replicas), 0, log)
		},
	}
}

// explain says what would help where replicas, or streams at all, cannot be had.
func explain(err error, replicas int) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok && api.ErrorCode == bus.CodeNoCluster:
		return fmt.Errorf("nats.replicas %d, and this NATS is a single server; set nats.replicas to 1, or name a cluster in nats.url: %w", replicas, err)
	case ok && api.ErrorCode == bus.CodeNoPeers:
		return fmt.Errorf("nats.replicas %d, and the cluster of NATS has too few servers with room at the moment; start those that are away, or lower nats.replicas: %w",
			replicas, err)
	}
	return bus.ExplainLimit(bus.ExplainLeader(err))
}
