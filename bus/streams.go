package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// The streams and buckets, as other programs see them.
const (
	InboundStream   = "AGENT_INBOUND"
	OutboundStream  = "AGENT_OUTBOUND"
	RoutesStream    = "AGENT_ROUTES"
	SchedulesStream = "AGENT_SCHEDULES"
	SessionsStream  = "AGENT_SESSIONS"
	EventsStream    = "AGENT_EVENTS"
	DeadStream      = "AGENT_DEAD"

	FilesBucket   = "AGENT_FILES"   // object store: what is too large for a message
	LanesBucket   = "AGENT_LANES"   // which host last held which lane; the key of the fleet
	WaitingBucket = "AGENT_WAITING" // the calls that wait for somebody
	AllowedBucket = "AGENT_ALLOWED" // what people have allowed for longer than once

	SpendBucket      = "AGENT_SPEND"      // what each agent has spent in each of the last days
	SchedulesBucket  = "AGENT_SCHEDULES"  // schedules and reminders, and when they are due next
	HeartbeatsBucket = "AGENT_HEARTBEATS" // what the ticks of agents came to
	MemoryBucket     = "AGENT_MEMORY"     // what agents remember
)

// laneStreams are those that lanes bring to agents.
var laneStreams = []string{InboundStream, RoutesStream, SchedulesStream}

// LaneStreams are the streams of which each lane has a consumer.
func LaneStreams() []string { return slices.Clone(laneStreams) }

// DedupeWindow is how long a stream remembers a Nats-Msg-Id.
const DedupeWindow = 10 * time.Minute

// MemoryMarkers is how long the bucket of notes tells that one was deleted; a
// host that misses it reads the notes anew.
const MemoryMarkers = 7 * day

const (
	day         = 24 * time.Hour
	lanesKey    = "agenthost.lanes"
	lanesFrom   = "agenthost.lanes_from" // where lanes made later start
	description = "agenthost"
)

func streamConfigs(replicas int) []jetstream.StreamConfig {
	base := func(name string, age time.Duration, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Description: description, Subjects: subjects, Replicas: replicas, MaxAge: age,
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, AllowDirect: true,
			Duplicates: DedupeWindow,
		}
	}
	inbound := base(InboundStream, 3*day, "plugin.inbound.>")
	inbound.Discard = jetstream.DiscardNew               // a plugin is told that the stream is full
	routes := base(RoutesStream, 7*day, RoutePrefix+"*") // programs write to it: neither schedules nor rollup
	routes.AllowMsgTTL = true
	schedules := base(SchedulesStream, 7*day, DuePrefix+"*", SchedulePrefix+">")
	schedules.AllowMsgSchedules, schedules.AllowRollup, schedules.AllowMsgTTL = true, true, true
	sessions := base(SessionsStream, 0, "agent.session.>", "agent.snapshot.>")
	sessions.AllowRollup = true
	events := base(EventsStream, 7*day, "agent.events.>")
	events.AllowMsgTTL = true
	return []jetstream.StreamConfig{
		inbound, base(OutboundStream, 3*day, "plugin.outbound.>"), routes, schedules, sessions, events,
		base(DeadStream, 30*day, "agent.dead.>"),
	}
}

// Provision makes the streams and buckets that are missing and widens those
// that lack something the host needs. It narrows nothing: a setting that
// somebody else chose is reported and stays. lanes is the number of lanes the
// fleet is configured for; a fleet that was made with another is an error.
func Provision(ctx context.Context, js jetstream.JetStream, replicas, lanes int, log zerolog.Logger) error {
	replicas, lanes = max(replicas, 1), LaneCount(lanes)
	if err := upgradeRoutes(ctx, js, replicas, log); err != nil {
		return notYet(explainReplicas(err, replicas))
	}
	var makers []func() error
	progress := log.Sample(&zerolog.BurstSampler{Burst: 1, Period: readyProgress})
	add := func(name string, provision func(ctx context.Context) error) {
		makers = append(makers, func() error { return inAttempts(ctx, progress.With().Str("stream", name).Logger(), provision) })
	}
	for _, want := range streamConfigs(replicas) {
		if want.Name == InboundStream {
			want.Metadata = map[string]string{lanesKey: strconv.Itoa(lanes)}
		}
		add(want.Name, func(ctx context.Context) error { return provisionStream(ctx, js, want, lanes, log) })
	}
	for _, want := range bucketConfigs(replicas) {
		add(want.Bucket, func(ctx context.Context) error { return provisionBucket(ctx, js, want) })
	}
	add(FilesBucket, func(ctx context.Context) error { return provisionFiles(ctx, js, replicas) })
	return notYet(explainReplicas(atOnce(makers), replicas))
}

// errNotYet is wrapped by the failure of a step that another try may get past.
var errNotYet = errors.New("the cluster does not know the stream yet")

// notYet marks the error of a stream that is not found although it was just made:
// the servers of a cluster learn of it one after the other.
func notYet(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", errNotYet, err)
	}
	return err
}

// makeFirst is about how long the first attempt at a stream may take; each
// further one may take twice as long, up to makeMost.
const (
	makeFirst = time.Second
	makeMost  = 4 * time.Second
)

// inAttempts calls provision until it succeeds, fails for another reason than
// its time, or ctx ends. When several hosts create the same stream at once, a
// cluster answers the last request only: the others time out, although the
// stream is there. So an attempt is short, and the next one finds the stream.
// Chance keeps the hosts from asking at the same time again.
func inAttempts(ctx context.Context, log zerolog.Logger, provision func(ctx context.Context) error) error {
	for within := makeFirst; ; within = min(2*within, makeMost) {
		attempt, cancel := context.WithTimeout(ctx, within/2+rand.N(within))
		err := provision(attempt)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		log.Info().Msg("stream: no answer of NATS yet; asking again")
	}
}

// explainReplicas says what would help where replicas cannot be had.
func explainReplicas(err error, replicas int) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != errNoCluster {
		return err
	}
	return fmt.Errorf("nats.replicas %d, and this NATS is a single server; set nats.replicas to 1, or name a cluster in nats.url: %w", replicas, err)
}

// atOnce calls all makers, so that a start takes the time of one answer of NATS
// and not of a dozen. It returns what is wrong with the first of them that
// failed, in their order.
func atOnce(makers []func() error) error {
	faults := make([]error, len(makers))
	var all sync.WaitGroup
	for i, do := range makers {
		all.Go(func() { faults[i] = do() })
	}
	all.Wait()
	return cmp.Or(faults...)
}

// LaneCount is how many lanes a fleet has that is configured for lanes.
func LaneCount(lanes int) int {
	if lanes == 0 {
		return 4
	}
	return lanes
}

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
	if !slices.Contains(laneStreams, name) {
		return 0
	}
	sessions, err := js.Stream(ctx, SessionsStream)
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
	if have.Name != InboundStream || have.Metadata[lanesKey] == "" || have.Metadata[lanesKey] == strconv.Itoa(lanes) {
		return nil
	}
	return fmt.Errorf("%w: %s, and nats.lanes says %d; set nats.lanes to %s, or stop every host and run: agenthost lanes %d",
		ErrLanes, have.Metadata[lanesKey], lanes, have.Metadata[lanesKey], lanes)
}

// ErrUnusable is wrapped by the refusal of a stream that no host can work with.
var ErrUnusable = errors.New("no host can work with it; delete it, and a host that starts makes it as it should be")

func checkUsable(have jetstream.StreamConfig) error {
	var why string
	switch {
	case have.NoAck:
		why = "acknowledges nothing (no_ack)"
	case have.Sealed:
		why = "is sealed"
	case have.Mirror != nil:
		why = "is a mirror"
	case have.Name == SessionsStream && have.Retention == jetstream.InterestPolicy:
		why = "keeps nothing (retention interest)"
	default:
		return nil
	}
	return fmt.Errorf("stream %s %s: %w", have.Name, why, ErrUnusable)
}

// widen returns have with what want needs added to it.
func widen(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	changed := false
	need := func(have *bool, want bool) {
		if want && !*have {
			*have, changed = true, true
		}
	}
	for _, s := range want.Subjects {
		if !slices.ContainsFunc(have.Subjects, func(h string) bool { return covers(h, s) }) {
			have.Subjects, changed = minimal(append(slices.Clone(have.Subjects), s)), true
		}
	}
	need(&have.AllowDirect, want.AllowDirect)
	need(&have.AllowRollup, want.AllowRollup)
	need(&have.AllowMsgTTL, want.AllowMsgTTL)
	need(&have.AllowMsgSchedules, want.AllowMsgSchedules)
	if have.Duplicates < want.Duplicates && (have.MaxAge == 0 || have.MaxAge >= want.Duplicates) {
		have.Duplicates, changed = want.Duplicates, true
	}
	for k, v := range want.Metadata {
		if have.Metadata[k] == "" {
			if have.Metadata == nil {
				have.Metadata = map[string]string{}
			}
			have.Metadata[k], changed = v, true
		}
	}
	return have, changed
}

func reportForeign(have, want jetstream.StreamConfig, log zerolog.Logger) {
	foreign := foreignSettings(have, want)
	if len(foreign) == 0 {
		return
	}
	diff := zerolog.Dict()
	for _, s := range foreign {
		diff = diff.Interface(s.name, s.value)
	}
	log.Warn().Str("stream", want.Name).Dict("settings", diff).Msg("stream has settings of its own; they stay as they are")
}

type setting struct {
	name  string
	value any
}

// foreignSettings are those of have that somebody else chose.
func foreignSettings(have, want jetstream.StreamConfig) []setting {
	var list []setting
	add := func(name string, differs bool, value any) {
		if differs {
			list = append(list, setting{name, value})
		}
	}
	add("allow_rollup", have.AllowRollup && !want.AllowRollup && !have.AllowMsgSchedules, have.AllowRollup)
	add("replicas", have.Replicas != want.Replicas, have.Replicas)
	add("max_age", have.MaxAge != want.MaxAge, have.MaxAge.String())
	add("retention", have.Retention != want.Retention, have.Retention.String())
	add("storage", have.Storage != want.Storage, have.Storage.String())
	add("discard", have.Discard != want.Discard, have.Discard.String())
	add("max_bytes", have.MaxBytes > 0, have.MaxBytes)
	add("max_msgs", have.MaxMsgs > 0, have.MaxMsgs)
	add("max_msgs_per_subject", have.MaxMsgsPerSubject > 0, have.MaxMsgsPerSubject)
	add("max_msg_size", have.MaxMsgSize > 0, have.MaxMsgSize)
	return list
}

func bucketConfigs(replicas int) []jetstream.KeyValueConfig {
	base := func(name string, age time.Duration) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: name, Description: description, Replicas: replicas, TTL: age}
	}
	memory := base(MemoryBucket, 0)
	memory.LimitMarkerTTL = MemoryMarkers
	return []jetstream.KeyValueConfig{
		base(LanesBucket, 0), base(WaitingBucket, 0), base(AllowedBucket, 0), base(SpendBucket, 35*day),
		base(SchedulesBucket, 0), base(HeartbeatsBucket, 0), memory,
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
	if _, err := js.ObjectStore(ctx, FilesBucket); err == nil {
		return nil
	}
	_, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: FilesBucket, Description: description, Replicas: replicas})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("make bucket %s: %w", FilesBucket, err)
	}
	return nil
}
