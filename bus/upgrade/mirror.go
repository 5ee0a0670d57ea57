package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// copyOut begins to copy AGENT_ROUTES, noting where its lanes are.
func (u *Upgrade) copyOut(ctx context.Context, routes *jetstream.StreamInfo) error {
	if _, err := u.JS.Publish(ctx, closedSubject, nil); err != nil {
		return err
	}
	u.done("mark end")
	lanes, err := delivery.Stopped(ctx, u.JS, bus.RoutesStream)
	if err != nil {
		return err
	}
	routes.Config.Metadata[delivery.LanesFrom] = strconv.FormatUint(lanes.From, 10)
	return u.mirror(ctx, routes, bus.UpgradeStream)
}

// mirror makes a stream of name that gets all that from has, and keeps what it says of
// the original.
func (u *Upgrade) mirror(ctx context.Context, from *jetstream.StreamInfo, name string) error {
	cfg := from.Config
	_, err := u.JS.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Description: bus.Description, Mirror: &jetstream.StreamSource{Name: cfg.Name}, Metadata: cfg.Metadata,
		Storage: cfg.Storage, Replicas: cfg.Replicas, Placement: cfg.Placement, Compression: cfg.Compression,
		AllowDirect: true, AllowMsgTTL: true,
	})
	return err
}

// complete waits until all is copied; from then on the copy is a stream of its own.
func (u *Upgrade) complete(ctx context.Context, kept jetstream.StreamConfig) error {
	if err := u.mirrored(ctx, bus.RoutesStream, bus.UpgradeStream); err != nil {
		return err
	}
	if err := u.copyConsumers(ctx, bus.RoutesStream, bus.UpgradeStream); err != nil {
		return err
	}
	kept.Mirror, kept.Subjects = nil, []string{closedSubject + ".kept"}
	_, err := u.JS.UpdateStream(ctx, kept)
	return err
}

// open waits until the new AGENT_ROUTES has all, and gives it the settings of the old
// one but for schedules and rollup.
func (u *Upgrade) open(ctx context.Context) error {
	if err := u.mirrored(ctx, bus.UpgradeStream, bus.RoutesStream); err != nil {
		return err
	}
	if err := u.copyConsumers(ctx, bus.UpgradeStream, bus.RoutesStream); err != nil {
		return err
	}
	info, err := u.look(ctx, bus.RoutesStream)
	if err != nil || info == nil {
		return err
	}
	var cfg jetstream.StreamConfig
	if err := json.Unmarshal([]byte(info.Config.Metadata[originalKey]), &cfg); err != nil {
		return fmt.Errorf("read its settings: %w", err)
	}
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[delivery.LanesFrom] = info.Config.Metadata[delivery.LanesFrom]
	cfg.AllowMsgSchedules, cfg.AllowRollup, cfg.AllowMsgTTL, cfg.AllowDirect, cfg.FirstSeq = false, false, true, true, 0
	_, err = u.JS.UpdateStream(ctx, cfg)
	return err
}

// tidyUp deletes the copy and the marker.
func (u *Upgrade) tidyUp(ctx context.Context) error {
	stream, err := u.JS.Stream(ctx, bus.RoutesStream)
	if err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(closedSubject)); err != nil {
		return err
	}
	u.done("delete marker")
	return u.JS.DeleteStream(ctx, bus.UpgradeStream)
}

// deleteOld deletes the AGENT_ROUTES that is copied. It must not come so late that
// another host has the lock and has made the new one.
func (u *Upgrade) deleteOld(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upgradeLease/2)
	defer cancel()
	return u.JS.DeleteStream(ctx, bus.RoutesStream)
}

// done logs a part of a step.
func (u *Upgrade) done(part string) {
	u.Log.Debug().Str("part", part).Msg("upgrade stream: part is done")
}

// mirroredPoll is how often a copy is looked at.
const mirroredPoll = 50 * time.Millisecond

// mirrored waits until a mirror has all that from has.
func (u *Upgrade) mirrored(ctx context.Context, from, mirror string) error {
	for {
		have, err := u.look(ctx, from)
		if err != nil {
			return err
		}
		got, err := u.look(ctx, mirror)
		if err != nil {
			return err
		}
		if have == nil || got == nil {
			return fmt.Errorf("copy %s to %s: %w", from, mirror, jetstream.ErrStreamNotFound)
		}
		if got.State.LastSeq == have.State.LastSeq && got.State.Msgs >= have.State.Msgs {
			return nil
		}
		if bus.Pause(ctx, mirroredPoll); ctx.Err() != nil {
			return fmt.Errorf("copy %s: %d of %d messages are there: %w", from, got.State.Msgs, have.State.Msgs, ctx.Err())
		}
		if err := u.lock.acquire(ctx); err != nil {
			return err
		}
	}
}
