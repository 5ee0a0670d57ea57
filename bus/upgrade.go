package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Version 0.1 kept schedules in AGENT_ROUTES, to which programs write. NATS takes the
// permission for schedules and rollup from no stream again, so that one is made new:
// schedules go to AGENT_SCHEDULES, and all else, with its sequences and times, by a
// mirror to keptRoutes and by another mirror back. Which step is next follows from
// what the streams look like, so that a host that dies at any of them is followed by
// one that goes on.
const (
	keptRoutes = "AGENT_ROUTES_UPGRADE" // has the messages while AGENT_ROUTES is made

	closedSubject = "agenthost.upgrade.routes" // all that AGENT_ROUTES takes while it is copied
	originalKey   = "agenthost.original"       // in the metadata: its settings before that
)

// An upgrade makes AGENT_ROUTES new.
type upgrade struct {
	js       jetstream.JetStream
	replicas int
	log      zerolog.Logger
	lock     *upgradeLock
}

// An upgradeStep brings the streams to the next state.
type upgradeStep struct {
	name string
	do   func(ctx context.Context) error
}

// upgradeRoutes carries what an older version has left over to the streams of this
// one. It does nothing where there is nothing of the kind.
func upgradeRoutes(ctx context.Context, js jetstream.JetStream, replicas int, log zerolog.Logger) error {
	u := &upgrade{js: js, replicas: replicas, log: log}
	step, err := u.next(ctx)
	if err != nil || step == nil {
		return err
	}
	if err := provisionBucket(ctx, js, jetstream.KeyValueConfig{Bucket: LanesBucket, Description: description, Replicas: replicas}); err != nil {
		return err
	}
	u.lock = &upgradeLock{js: js}
	defer u.lock.release(ctx)
	for {
		if err := u.lock.acquire(ctx); err != nil {
			return fmt.Errorf("upgrade stream %s: %w", RoutesStream, err)
		}
		if step, err = u.next(ctx); err != nil {
			return err
		}
		if step == nil {
			log.Info().Str("stream", RoutesStream).Msg("upgrade stream: done")
			return nil
		}
		log.Info().Str("stream", RoutesStream).Str("step", step.name).Msg("upgrade stream: an older version has made it")
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("upgrade stream %s: %s: %w", RoutesStream, step.name, err)
		}
	}
}

// next is the step that the state of the streams calls for; nil when they are as they
// should be. AGENT_ROUTES is looked at first: without it, the other has the messages.
func (u *upgrade) next(ctx context.Context) (*upgradeStep, error) {
	routes, err := u.look(ctx, RoutesStream)
	if err != nil {
		return nil, err
	}
	kept, err := u.look(ctx, keptRoutes)
	if err != nil {
		return nil, err
	}
	switch {
	case routes == nil && kept == nil: // a new fleet
		return nil, nil
	case routes == nil:
		return &upgradeStep{"make stream", func(ctx context.Context) error { return u.mirror(ctx, kept, RoutesStream) }}, nil
	case kept != nil && isMirrorOf(routes, keptRoutes):
		return &upgradeStep{"open stream", u.open}, nil
	case routes.Config.AllowMsgSchedules:
		return u.nextOfOld(routes, kept), nil
	case kept != nil:
		return &upgradeStep{"tidy up", u.tidyUp}, nil
	}
	return nil, nil
}

// nextOfOld is the step while AGENT_ROUTES is that of the older version.
func (u *upgrade) nextOfOld(routes, kept *jetstream.StreamInfo) *upgradeStep {
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
func (u *upgrade) look(ctx context.Context, name string) (info *jetstream.StreamInfo, err error) {
	err = inAttempts(ctx, u.log.With().Str("stream", name).Logger(), func(ctx context.Context) error {
		stream, err := u.js.Stream(ctx, name)
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

// moveSchedules gives AGENT_SCHEDULES what is scheduled and what has fired, and then
// closes AGENT_ROUTES.
func (u *upgrade) moveSchedules(ctx context.Context, cfg jetstream.StreamConfig) error {
	if cfg.Retention != jetstream.LimitsPolicy {
		return fmt.Errorf("its retention is %s, which cannot be copied: %w", cfg.Retention, ErrUnusable)
	}
	old, err := stoppedLanes(ctx, u.js, RoutesStream)
	if err != nil {
		return err
	}
	if cfg, err = u.narrow(ctx, cfg); err != nil {
		return err
	}
	u.done("close to schedules")
	i := slices.IndexFunc(streamConfigs(u.replicas), func(c jetstream.StreamConfig) bool { return c.Name == SchedulesStream })
	if err := provisionStream(ctx, u.js, streamConfigs(u.replicas)[i], 0, u.log); err != nil {
		return err
	}
	u.done("make " + SchedulesStream)
	if err := u.carrySchedules(ctx, old.stream); err != nil {
		return err
	}
	if err := u.carryFirings(ctx, old.stream, old.from); err != nil {
		return err
	}
	return u.closeStream(ctx, cfg)
}

// narrow has AGENT_ROUTES take no schedules any more, which AGENT_SCHEDULES is to take.
func (u *upgrade) narrow(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	all := len(cfg.Subjects)
	cfg.Subjects = slices.DeleteFunc(slices.Clone(cfg.Subjects), func(s string) bool { return covers(SchedulePrefix+">", s) })
	if len(cfg.Subjects) == all {
		return cfg, nil
	}
	_, err := u.js.UpdateStream(ctx, cfg)
	return cfg, err
}

// closeStream has AGENT_ROUTES take nothing but a marker, which keeps its last
// sequence through the copies also when no message is left.
func (u *upgrade) closeStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	original, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	closed := cfg
	closed.Subjects, closed.RePublish, closed.SubjectTransform = []string{closedSubject}, nil, nil
	closed.Metadata = maps.Clone(cfg.Metadata)
	if closed.Metadata == nil {
		closed.Metadata = map[string]string{}
	}
	closed.Metadata[originalKey] = string(original)
	_, err = u.js.UpdateStream(ctx, closed)
	return err
}

// copyOut begins to copy AGENT_ROUTES, noting where its lanes are.
func (u *upgrade) copyOut(ctx context.Context, routes *jetstream.StreamInfo) error {
	if _, err := u.js.Publish(ctx, closedSubject, nil); err != nil {
		return err
	}
	u.done("mark end")
	lanes, err := stoppedLanes(ctx, u.js, RoutesStream)
	if err != nil {
		return err
	}
	routes.Config.Metadata[lanesFrom] = strconv.FormatUint(lanes.from, 10)
	return u.mirror(ctx, routes, keptRoutes)
}

// mirror makes a stream of name that gets all that from has, and keeps what it says of
// the original.
func (u *upgrade) mirror(ctx context.Context, from *jetstream.StreamInfo, name string) error {
	cfg := from.Config
	_, err := u.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: name, Description: description, Mirror: &jetstream.StreamSource{Name: cfg.Name}, Metadata: cfg.Metadata,
		Storage: cfg.Storage, Replicas: cfg.Replicas, Placement: cfg.Placement, Compression: cfg.Compression,
		AllowDirect: true, AllowMsgTTL: true,
	})
	return err
}

// complete waits until all is copied; from then on the copy is a stream of its own.
func (u *upgrade) complete(ctx context.Context, kept jetstream.StreamConfig) error {
	if err := u.mirrored(ctx, RoutesStream, keptRoutes); err != nil {
		return err
	}
	if err := u.copyConsumers(ctx, RoutesStream, keptRoutes); err != nil {
		return err
	}
	kept.Mirror, kept.Subjects = nil, []string{closedSubject + ".kept"}
	_, err := u.js.UpdateStream(ctx, kept)
	return err
}

// open waits until the new AGENT_ROUTES has all, and gives it the settings of the old
// one but for schedules and rollup.
func (u *upgrade) open(ctx context.Context) error {
	if err := u.mirrored(ctx, keptRoutes, RoutesStream); err != nil {
		return err
	}
	if err := u.copyConsumers(ctx, keptRoutes, RoutesStream); err != nil {
		return err
	}
	info, err := u.look(ctx, RoutesStream)
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
	cfg.Metadata[lanesFrom] = info.Config.Metadata[lanesFrom]
	cfg.AllowMsgSchedules, cfg.AllowRollup, cfg.AllowMsgTTL, cfg.AllowDirect, cfg.FirstSeq = false, false, true, true, 0
	_, err = u.js.UpdateStream(ctx, cfg)
	return err
}

// tidyUp deletes the copy and the marker.
func (u *upgrade) tidyUp(ctx context.Context) error {
	stream, err := u.js.Stream(ctx, RoutesStream)
	if err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(closedSubject)); err != nil {
		return err
	}
	u.done("delete marker")
	return u.js.DeleteStream(ctx, keptRoutes)
}

// deleteOld deletes the AGENT_ROUTES that is copied. It must not come so late that
// another host has the lock and has made the new one.
func (u *upgrade) deleteOld(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upgradeLease/2)
	defer cancel()
	return u.js.DeleteStream(ctx, RoutesStream)
}

// done logs a part of a step.
func (u *upgrade) done(part string) {
	u.log.Debug().Str("part", part).Msg("upgrade stream: part is done")
}

// mirroredPoll is how often a copy is looked at.
const mirroredPoll = 50 * time.Millisecond

// mirrored waits until a mirror has all that from has.
func (u *upgrade) mirrored(ctx context.Context, from, mirror string) error {
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
		if pause(ctx, mirroredPoll); ctx.Err() != nil {
			return fmt.Errorf("copy %s: %d of %d messages are there: %w", from, got.State.Msgs, have.State.Msgs, ctx.Err())
		}
		if err := u.lock.acquire(ctx); err != nil {
			return err
		}
	}
}

// copyConsumers gives a stream the durable consumers that programs have on another,
// where they are. Those that push wait until the last copy.
func (u *upgrade) copyConsumers(ctx context.Context, from, to string) error {
	source, err := u.js.Stream(ctx, from)
	if err != nil {
		return err
	}
	target, err := u.js.Stream(ctx, to)
	if err != nil {
		return err
	}
	list := source.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.Durable == "" || isLane(info.Name) {
			continue
		}
		if err := copyConsumer(ctx, target, info, to == RoutesStream); err != nil {
			return fmt.Errorf("copy consumer %s: %w", info.Name, err)
		}
		u.done("copy consumer")
	}
	return list.Err()
}

func copyConsumer(ctx context.Context, to jetstream.Stream, info *jetstream.ConsumerInfo, last bool) error {
	cfg := goesOn(info)
	var err error
	switch {
	case cfg.DeliverSubject == "":
		_, err = to.CreateConsumer(ctx, cfg)
	case last:
		cfg.PauseUntil = nil
		_, err = to.CreatePushConsumer(ctx, cfg)
	default:
		later := time.Now().Add(365 * day)
		cfg.PauseUntil = &later
		_, err = to.CreatePushConsumer(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrConsumerExists) { // before a crash
		return nil
	}
	return err
}

// goesOn is the configuration of a consumer that begins where another is. Of one with
// replicas that has never delivered anything, NATS does not say where that is.
func goesOn(info *jetstream.ConsumerInfo) jetstream.ConsumerConfig {
	cfg := info.Config
	switch {
	case info.AckFloor.Stream > 0:
		if cfg.DeliverPolicy != jetstream.DeliverByStartSequencePolicy {
			cfg.DeliverPolicy, cfg.OptStartTime, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, nil, 0
		}
		cfg.OptStartSeq = max(cfg.OptStartSeq, info.AckFloor.Stream+1)
	case cfg.DeliverPolicy == jetstream.DeliverNewPolicy:
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &info.Created
	}
	return cfg
}

// ownSchedule reports whether a schedule is for the agent that its subject names, as
// all are that hosts make.
func ownSchedule(subject, target string) (agent string, ok bool) {
	agent, _, _ = strings.Cut(strings.TrimPrefix(subject, SchedulePrefix), ".")
	return agent, strings.HasPrefix(subject, SchedulePrefix) && target == RoutePrefix+agent
}
