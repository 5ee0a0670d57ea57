package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// bucketConfig is that of one bucket.
func bucketConfig(name string, replicas int) jetstream.KeyValueConfig {
	all := bucketConfigs(replicas)
	return all[slices.IndexFunc(all, func(c jetstream.KeyValueConfig) bool { return c.Bucket == name })]
}

// bucketConfigs are the buckets as a new fleet has them.
func bucketConfigs(replicas int) []jetstream.KeyValueConfig {
	base := func(name string, age time.Duration) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: name, Description: bus.Description, Replicas: replicas, TTL: age}
	}
	memory := base(bus.MemoryBucket, 0)
	memory.LimitMarkerTTL = bus.MemoryMarkers
	pairings := base(bus.PairingsBucket, 0)
	pairings.LimitMarkerTTL = bus.PairingMarkers
	channels := base(bus.ChannelsBucket, 0)
	channels.LimitMarkerTTL = bus.ChannelsMarkers // without it its entries could not expire
	return []jetstream.KeyValueConfig{
		base(bus.LanesBucket, 0), base(bus.WaitingBucket, 0), base(bus.AllowedBucket, 0), base(bus.SpendBucket, 35*day),
		base(bus.SchedulesBucket, 0), base(bus.HeartbeatsBucket, 0), memory, pairings, channels,
		base(bus.RequestsBucket, bus.RequestsAge), base(bus.TokensBucket, 0),
	}
}

// What the names of the streams behind buckets begin with.
const (
	bucketPrefix = "KV_"
	filesPrefix  = "OBJ_"
)

// bucketStreams are the streams behind the buckets, as far as hosts care what they are like.
func bucketStreams(replicas int) (list []jetstream.StreamConfig) {
	behind := func(name string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Replicas: replicas, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
			Discard: jetstream.DiscardNew, AllowRollup: true,
		}
	}
	for _, c := range bucketConfigs(replicas) {
		list = append(list, behindBucket(behind(bucketPrefix+c.Bucket), c))
	}
	return append(list, behind(filesPrefix+bus.FilesBucket))
}

func behindBucket(s jetstream.StreamConfig, c jetstream.KeyValueConfig) jetstream.StreamConfig {
	s.MaxAge, s.MaxMsgsPerSubject = c.TTL, 1
	s.AllowMsgTTL, s.SubjectDeleteMarkerTTL = c.LimitMarkerTTL > 0, c.LimitMarkerTTL
	return s
}

func bucketStream(name string, replicas int) jetstream.StreamConfig {
	all := bucketStreams(replicas)
	return all[slices.IndexFunc(all, func(c jetstream.StreamConfig) bool { return c.Name == name })]
}

func provisionBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig, log zerolog.Logger) error {
	err := provisionBehind(ctx, js, bucketStream(bucketPrefix+want.Bucket, want.Replicas), log, func() error {
		_, err := js.CreateKeyValue(ctx, want)
		return err
	})
	if err != nil {
		return fmt.Errorf("make bucket %s: %w", want.Bucket, err)
	}
	return nil
}

func provisionFiles(ctx context.Context, js jetstream.JetStream, replicas int, log zerolog.Logger) error {
	err := provisionBehind(ctx, js, bucketStream(filesPrefix+bus.FilesBucket, replicas), log, func() error {
		_, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bus.FilesBucket, Description: bus.Description, Replicas: replicas})
		return err
	})
	if err != nil {
		return fmt.Errorf("make bucket %s: %w", bus.FilesBucket, err)
	}
	return nil
}

// provisionBehind makes a bucket, or widens the stream behind it to want.
func provisionBehind(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, log zerolog.Logger, create func() error) error {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err = create(); errors.Is(err, jetstream.ErrBucketExists) {
			err = nil // another host was quicker
		}
		return err
	}
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	reportForeign(have, want, log)
	if wider, changed := widen(have, want); changed {
		_, err = js.UpdateStream(ctx, wider)
	}
	return err
}

// BucketNames are the key-value buckets.
func BucketNames() (names []string) {
	for _, c := range bucketConfigs(1) {
		names = append(names, c.Bucket)
	}
	return names
}
