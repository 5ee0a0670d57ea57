// Package upgrade carries what an older version has left in the streams over to
// those of this one. A host that dies at it is followed by one that goes on.
package upgrade

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Version 0.1 kept schedules in AGENT_ROUTES, to which programs write. NATS takes the
// permission for schedules and rollup from no stream again, so that one is made new:
// schedules go to AGENT_SCHEDULES, and all else, with its sequences and times, by a
// mirror to UpgradeStream and by another mirror back. Which step is next follows from
// what the streams look like, so that a host that dies at any of them is followed by
// one that goes on.
const (
	closedSubject = "agenthost.upgrade.routes" // all that AGENT_ROUTES takes while it is copied
	originalKey   = "agenthost.original"       // in the metadata: its settings before that
)

// An Upgrade carries what an older version has left over to the streams of this
// one. Any number of hosts may run one at the same time: one works, the others wait.
type Upgrade struct {
	JS  jetstream.JetStream
	Log zerolog.Logger
	// MakeLanes and MakeSchedules make, unless it is there, the bucket that has the
	// lock and the stream that schedules go to.
	MakeLanes, MakeSchedules func(ctx context.Context) error

	lock *upgradeLock
}

// An upgradeStep brings the streams to the next state.
type upgradeStep struct {
	name string
	do   func(ctx context.Context) error
}

// Run does nothing where an older version has left nothing.
func (u *Upgrade) Run(ctx context.Context) error {
	step, err := u.next(ctx)
	if err != nil || step == nil {
		return err
	}
	if err := u.MakeLanes(ctx); err != nil {
		return err
	}
	u.lock = &upgradeLock{js: u.JS}
	defer u.lock.release(ctx)
	for {
		if err := u.lock.acquire(ctx); err != nil {
			return fmt.Errorf("upgrade stream %s: %w", bus.RoutesStream, err)
		}
		if step, err = u.next(ctx); err != nil {
			return err
		}
		if step == nil {
			u.Log.Info().Str("stream", bus.RoutesStream).Msg("upgrade stream: done")
			return nil
		}
		u.Log.Info().Str("stream", bus.RoutesStream).Str("step", step.name).Msg("upgrade stream: an older version has made it")
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("upgrade stream %s: %s: %w", bus.RoutesStream, step.name, err)
		}
	}
}

// next is the step that the state of the streams calls for; nil when they are as they
// should be. AGENT_ROUTES is looked at first: without it, the other has the messages.
func (u *Upgrade) next(ctx context.Context) (*upgradeStep, error) {
	routes, err := u.look(ctx, bus.RoutesStream)
	if err != nil {
		return nil, err
	}
	kept, err := u.look(ctx, bus.UpgradeStream)
	if err != nil {
		return nil, err
	}
	switch {
	case routes == nil && kept == nil: // a new fleet
		return nil, nil
	case routes == nil:
		return &upgradeStep{"make stream", func(ctx context.Context) error { return u.mirror(ctx, kept, bus.RoutesStream) }}, nil
	case kept != nil && isMirrorOf(routes, bus.UpgradeStream):
		return &upgradeStep{"open stream", u.open}, nil
	case routes.Config.AllowMsgSchedules:
		return u.nextOfOld(routes, kept), nil
	case kept != nil:
		return &upgradeStep{"tidy up", u.tidyUp}, nil
	}
	return nil, nil
}

// nextOfOld is the step while AGENT_ROUTES is that of the older version.
func (u *Upgrade) nextOfOld(routes, kept *jetstream.StreamInfo) *upgradeStep {
	switch {
	case routes.Config.Metadata[originalKey] == "":
		return &upgradeStep{"move schedules", func(ctx context.Context) error { return u.moveSchedules(ctx, routes.Config) }}
	case kept == nil:
		return &upgradeStep{"copy messages", func(ctx context.Context) error { return u.copyOut(ctx, routes) }}
	case kept.Config.Mirror != nil:
		return &upgradeStep{"complete the copy", func(ctx context.Context) error { return u.complete(ctx, kept.Config) }}
	}
	return &upgradeStep{"delete stream", u.deleteOld}
}

func isMirrorOf(info *jetstream.StreamInfo, name string) bool {
	return info.Config.Mirror != nil && info.Config.Mirror.Name == name
}

// look describes a stream; nil when there is none.
func (u *Upgrade) look(ctx context.Context, name string) (info *jetstream.StreamInfo, err error) {
	err = bus.InAttempts(ctx, u.Log.With().Str("stream", name).Logger(), func(ctx context.Context) error {
		stream, err := u.JS.Stream(ctx, name)
		if err == nil {
			info = stream.CachedInfo()
		}
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	return info, nil
}
