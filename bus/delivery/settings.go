package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// restoreWithin is the time for setting a consumer again: a lane that has to let go must not
// wait for it.
const restoreWithin = 2 * time.Second

// restoredSettings is have with what a lane needs where an operator of NATS has changed it, and that in
// words, empty where nothing is. More than a lane needs stays: hosts of another version may have
// set it, and two of them would undo each other's settings for ever.
func restoredSettings(have jetstream.ConsumerConfig) (want jetstream.ConsumerConfig, lacked string) {
	want = have
	var words []string
	lacks := func(is bool, format string, args ...any) bool {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
		return is
	}
	// A message whose host has died would not come again.
	if lacks(have.MaxDeliver > 0, "max deliver %d", have.MaxDeliver) {
		want.MaxDeliver = -1
	}
	// They go before the time for an acknowledgement, which is the next here.
	if lacks(len(have.BackOff) > 0, "backoff %v", have.BackOff) {
		want.BackOff = nil
	}
	if lacks(have.AckWait < ackWait, "ack wait %s", have.AckWait) || len(have.BackOff) > 0 {
		want.AckWait = max(have.AckWait, ackWait)
	}
	if lacks(have.MaxAckPending > 0 && have.MaxAckPending < maxAckPending, "max ack pending %d", have.MaxAckPending) {
		want.MaxAckPending = maxAckPending
	}
	if lacks(have.HeadersOnly, "headers only") { // a message without its text would be answered
		want.HeadersOnly = false
	}
	if lacks(have.MaxRequestBatch > 0 && have.MaxRequestBatch < pullMessages, "max request batch %d", have.MaxRequestBatch) {
		want.MaxRequestBatch = 0
	}
	if lacks(have.MaxRequestExpires > 0 && have.MaxRequestExpires < pullExpiry, "max request expires %s", have.MaxRequestExpires) {
		want.MaxRequestExpires = 0
	}
	if lacks(have.MaxRequestMaxBytes > 0, "max request max bytes %d", have.MaxRequestMaxBytes) {
		want.MaxRequestMaxBytes = 0
	}
	if lacks(have.RateLimit > 0, "rate limit %d", have.RateLimit) {
		want.RateLimit = 0
	}
	if lacks(have.InactiveThreshold > 0, "inactive threshold %s", have.InactiveThreshold) { // it would be deleted
		want.InactiveThreshold = 0
	}
	shared := have.PriorityPolicy != jetstream.PriorityPolicyPinned || !slices.Contains(have.PriorityGroups, laneGroup)
	if lacks(shared, "priority groups %q, policy %d", have.PriorityGroups, have.PriorityPolicy) { // it refuses what hosts ask
		want.PriorityPolicy, want.PriorityGroups, want.PinnedTTL = jetstream.PriorityPolicyPinned, []string{laneGroup}, pinnedTTL
	} else if lacks(have.PinnedTTL > 0 && have.PinnedTTL < pinnedTTL, "pinned ttl %s", have.PinnedTTL) {
		want.PinnedTTL = pinnedTTL
	}
	return want, strings.Join(words, ", ")
}

// lacks reports whether a consumer is not as this lane needs it.
func (l *Lane) lacks(have jetstream.ConsumerConfig) bool {
	_, lacked := restoredSettings(have)
	return lacked != "" || !l.takesClaims(have)
}

// takesClaims reports whether a consumer takes all that this host has claimed.
func (l *Lane) takesClaims(have jetstream.ConsumerConfig) bool {
	return takesAll(have, *l.claims.Load(), l.all())
}

// takesAll reports whether a consumer takes all that some filters take, of what all takes.
func takesAll(have jetstream.ConsumerConfig, filters []string, all string) bool {
	return slices.Equal(Filters(append(filtersOf(have), filters...), all), slices.Sorted(slices.Values(filtersOf(have))))
}

func (l *Lane) withClaims(have jetstream.ConsumerConfig) []string {
	return Filters(append(filtersOf(have), *l.claims.Load()...), l.all())
}

// set sets what a lane needs of its consumer, which is have. What NATS refuses, as with a limit of the
// account, stays as it is where the lane takes its subjects all the same: else it would stand still.
func (l *Lane) set(ctx context.Context, consumer jetstream.Consumer, have jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	want, lacked := restoredSettings(have)
	l.noteLeftOut(ctx)
	limited := want
	limited.MaxAckPending = have.MaxAckPending
	var refused error
	for _, cfg := range []jetstream.ConsumerConfig{want, limited, have} {
		cfg.FilterSubject, cfg.FilterSubjects = "", l.withClaims(have)
		now, err := l.js.UpdateConsumer(ctx, l.cfg.Stream, cfg)
		if err == nil {
			l.hasSetFilters()
			l.cover(now.CachedInfo())
			l.saySet(lacked, now.CachedInfo().Config, refused)
			return now, nil
		}
		if _, answered := errors.AsType[*jetstream.APIError](err); !answered {
			return nil, fmt.Errorf("set consumer: %w", err) // the next try is soon
		}
		refused = cmp.Or(refused, err)
	}
	if !l.takesClaims(have) {
		return nil, fmt.Errorf("set consumer: %w", bus.ExplainLimit(refused))
	}
	l.saySet(lacked, have, refused)
	return consumer, nil
}

// saySet logs what a consumer lacked that was set again, and what NATS has refused of that, once.
func (l *Lane) saySet(lacked string, now jetstream.ConsumerConfig, refused error) {
	_, lacks := restoredSettings(now)
	if lacks != lacked {
		l.log.Warn().Str("lacked", lacked).Msg("consumer was changed and lacked what its lane needs: this host has set it again")
	}
	if lacks != "" && lacks != l.lacking {
		l.log.Warn().Err(bus.ExplainLimit(refused)).Str("lacks", lacks).Msg("consumer was changed and lacks what its lane needs: NATS refuses to set it again")
	}
	l.lacking = lacks
}

// restore sets what a lane needs of its consumer again. It is no fault of the lane when that
// fails: the next look is soon.
func (l *Lane) restore(ctx context.Context, have jetstream.ConsumerConfig) {
	if !l.lacks(have) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, restoreWithin)
	defer cancel()
	if _, err := l.ensure(ctx); err != nil {
		l.log.Warn().Err(err).Msg("consumer lacks what its lane needs: setting it again failed; retrying")
	}
}

// sizeHeader has what a message weighs, where the consumer delivers headers only.
const sizeHeader = "Nats-Msg-Size"

// whole is a message with its text, which is read from the stream where the consumer was changed to
// deliver headers only: until that is set back such a one would be answered as if it were empty. It
// is not ok where the stream cannot be read.
func (l *Lane) whole(ctx context.Context, m message, seq uint64) (message, bool) {
	if size := m.Header.Get(sizeHeader); size == "" || size == "0" || len(m.Data) > 0 {
		return m, true
	}
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	rec, err := bus.Again(ctx, func(ctx context.Context) (records.Record, error) {
		return records.NewReader(l.js).Get(ctx, l.cfg.Stream, seq)
	})
	if errors.Is(err, records.ErrNotFound) { // nothing is left to read
		return m, true
	}
	if err != nil {
		l.few.Warn().Err(err).Uint64("seq", seq).Msg("read a message that came without its text: failed; it comes again")
		return m, false
	}
	msg := *m.Msg
	msg.Data = rec.Data
	return message{&msg, m.nc}, true
}
