package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
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

func provisionBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) error {
	if _, err := js.KeyValue(ctx, want.Bucket); err == nil {
		return nil
	}
	_, err := js.CreateKeyValue(ctx, want)
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("make bucket %s: %w", want.Bucket, err)
	}
	return nil
}

func provisionFiles(ctx context.Context, js jetstream.JetStream, replicas int) error {
	if _, err := js.ObjectStore(ctx, bus.FilesBucket); err == nil {
		return nil
	}
	_, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bus.FilesBucket, Description: bus.Description, Replicas: replicas})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("make bucket %s: %w", bus.FilesBucket, err)
	}
	return nil
}

// BucketNames are the key-value buckets.
func BucketNames() (names []string) {
	for _, c := range bucketConfigs(1) {
		names = append(names, c.Bucket)
	}
	return names
}
