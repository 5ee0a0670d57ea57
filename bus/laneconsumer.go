package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ensure returns the lane's consumer, made or widened where needed. Filters are
// only ever added: another host of the fleet may know agents that this one
// does not know yet.
func (l *Lane) ensure(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	select {
	case l.ensuring <- struct{}{}:
		defer func() { <-l.ensuring }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return l.widened(ctx)
}

// Claim makes filters what the lane takes on behalf of this host. It returns
// once the server knows, or ctx has ended; that NATS is away is waited for.
// Filters that are not among them any more stay with the consumer.
func (l *Lane) Claim(ctx context.Context, filters []string) error {
	l.claims.Store(&filters)
	for {
		_, err := l.ensure(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stream %s: %s: take other subjects: %w", l.cfg.Stream, l.cfg.Name, context.Cause(ctx))
		}
		l.log.Warn().Err(err).Msg("lane cannot take other subjects yet; trying again")
		pause(ctx, time.Second)
	}
}

func (l *Lane) widened(ctx context.Context) (jetstream.Consumer, error) {
	consumer, err := l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return l.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("look up consumer: %w", err)
	}
	have := consumer.CachedInfo().Config
	filters := Filters(append(filtersOf(have), *l.claims.Load()...), l.all())
	if slices.Equal(filters, slices.Sorted(slices.Values(filtersOf(have)))) {
		return consumer, nil
	}
	have.FilterSubject, have.FilterSubjects = "", filters
	if consumer, err = l.js.UpdateConsumer(ctx, l.cfg.Stream, have); err != nil {
		return nil, fmt.Errorf("widen consumer: %w", err)
	}
	return consumer, nil
}

// all is the filter that takes the whole of what lanes of the stream may take.
func (l *Lane) all() string {
	switch l.cfg.Stream {
	case RoutesStream:
		return RoutePrefix + "*"
	case SchedulesStream: // never the schedules themselves
		return DuePrefix + "*"
	}
	return "plugin.inbound.>"
}

func filtersOf(c jetstream.ConsumerConfig) []string {
	switch {
	case c.FilterSubject != "":
		return []string{c.FilterSubject}
	case len(c.FilterSubjects) == 0: // it takes everything
		return []string{">"}
	}
	return slices.Clone(c.FilterSubjects)
}

func (l *Lane) create(ctx context.Context) (jetstream.Consumer, error) {
	if len(*l.claims.Load()) == 0 { // without a filter it would take everything
		return nil, errors.New("the consumer is gone, and no agent of this host needs it")
	}
	cfg := jetstream.ConsumerConfig{
		Durable: l.cfg.Name, Description: description,
		FilterSubjects: Filters(*l.claims.Load(), l.all()),
		AckPolicy:      jetstream.AckExplicitPolicy, AckWait: ackWait,
		MaxAckPending: maxAckPending, MaxDeliver: -1,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{laneGroup}, PinnedTTL: pinnedTTL,
	}
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return nil, fmt.Errorf("look up stream: %w", err)
	}
	if from := startOf(stream.CachedInfo().Config); from > 1 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) { // another host was quicker, with other filters
		return l.widened(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", err)
	}
	return consumer, nil
}

func pinnedClient(info *jetstream.ConsumerInfo) string {
	for _, g := range info.PriorityGroups {
		if g.Group == laneGroup {
			return g.PinnedClientID
		}
	}
	return ""
}

// An ownership is what a host notes when it gains a lane, so that after a crash
// it can let go what its dead self still holds.
type ownership struct {
	Host string `json:"host"`
	Pin  string `json:"pin"`
	// Tried is how far deliveries had come before the last reset.
	Tried uint64 `json:"tried,omitempty"`
	// Handed is how far they had come when the owner stopped in good order.
	Handed uint64 `json:"handed,omitempty"`
}

func (l *Lane) noteKey() string { return l.cfg.Stream + "." + l.cfg.Name }

func (l *Lane) readNote(ctx context.Context) (ownership, error) {
	note := ownership{}
	entry, err := NewReader(l.js).Entry(ctx, LanesBucket, l.noteKey())
	if errors.Is(err, ErrNotFound) {
		return note, nil
	}
	if err != nil {
		return note, fmt.Errorf("read who serves the lane: %w", err)
	}
	if err := json.Unmarshal(entry.Data, &note); err != nil {
		l.log.Warn().Err(err).Msg("the note of who serves the lane cannot be read; ignored")
		return ownership{}, nil
	}
	return note, nil
}

func (l *Lane) writeNote(ctx context.Context, note ownership) error {
	kv, err := l.js.KeyValue(ctx, LanesBucket)
	if err != nil {
		return fmt.Errorf("note who serves the lane: %w", err)
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if _, err = kv.Put(ctx, l.noteKey(), data); err != nil {
		return fmt.Errorf("note who serves the lane: %w", err)
	}
	return nil
}

// takeBack makes ready for a start: it unpins what an earlier life of this host
// still holds and, when nobody serves the lane, has the server deliver again at
// once what was left, instead of when its ack timers run out.
func (l *Lane) takeBack(ctx context.Context, consumer jetstream.Consumer) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	info := consumer.CachedInfo()
	note, err := l.readNote(ctx)
	if err != nil {
		return err
	}
	l.tried = max(l.tried, note.Tried)
	pin := pinnedClient(info)
	if pin != "" && pin != l.pin && (note.Host != l.cfg.Host || note.Pin != pin) {
		return nil // another host serves it
	}
	if pin != "" {
		l.log.Info().Msg("taking the lane back from before the restart")
		if err := l.unpin(ctx); err != nil {
			return err
		}
	}
	if l.pin == "" && note.Host == l.cfg.Host && note.Pin != "" { // it did not stop, it died
		if err := l.distrust(ctx, &note); err != nil {
			return err
		}
	}
	if info.NumAckPending == 0 {
		return nil
	}
	return l.reset(ctx, &note, info.Delivered.Stream)
}

// distrust notes all that is stored as tried: a server that died with this
// host's earlier life may have forgotten what it delivered to it.
func (l *Lane) distrust(ctx context.Context, note *ownership) error {
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return fmt.Errorf("look up stream: %w", err)
	}
	note.Tried = max(note.Tried, stream.CachedInfo().State.LastSeq)
	l.tried = max(l.tried, note.Tried)
	return l.writeNote(ctx, *note)
}

// release lets the pin go, and has the server deliver again at once what was
// left, so that another host need not wait for timers.
func (l *Lane) release() {
	pin := l.pinned.Load()
	if pin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	if err := l.handOver(ctx, *pin); err != nil {
		l.log.Warn().Err(err).Msg("let the lane go; another host takes it when the pin expires")
	}
}

func (l *Lane) handOver(ctx context.Context, pin string) error {
	consumer, err := l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	if err != nil {
		return fmt.Errorf("look up consumer: %w", err)
	}
	info := consumer.CachedInfo()
	if pinnedClient(info) != pin {
		return nil
	}
	return errors.Join(l.leaveNote(ctx, info), l.unpin(ctx))
}

// leaveNote notes that nobody serves the lane, and has the server deliver again
// what was left.
func (l *Lane) leaveNote(ctx context.Context, info *jetstream.ConsumerInfo) error {
	note, err := l.readNote(ctx)
	if err != nil {
		return err
	}
	note.Pin = ""
	if info.NumAckPending > 0 {
		note.Handed = info.Delivered.Stream
		return l.reset(ctx, &note, info.Delivered.Stream)
	}
	return l.writeNote(ctx, note)
}

// keepPin asks for a message as a pull does, but no larger than nothing: the
// server renews the pin and sends none. A lane that slows down has read what
// it pulled long before it pulls again.
func (l *Lane) keepPin() {
	pull, err := json.Marshal(map[string]any{"batch": 1, "max_bytes": 1, "no_wait": true, "group": laneGroup, "id": l.pin})
	if err == nil {
		nc := l.js.Conn()
		err = nc.PublishRequest(apiPrefix(l.js)+"CONSUMER.MSG.NEXT."+l.cfg.Stream+"."+l.cfg.Name, nc.NewInbox(), pull)
	}
	if err != nil {
		l.log.Debug().Err(err).Msg("keep the lane while it is slow")
	}
}

func apiPrefix(js jetstream.JetStream) string {
	switch o := js.Options(); {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	}
	return ownAPI
}

// ownAPI is the prefix of the JetStream that the server itself has.
const ownAPI = "$JS.API."

func (l *Lane) unpin(ctx context.Context) error {
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	if err := stream.UnpinConsumer(ctx, l.cfg.Name, laneGroup); err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	return nil
}
