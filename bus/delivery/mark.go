package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// What a host was given and has not acknowledged it knows as long as it lives: see firstOwed. The
// next owner knows nothing of that. So the note of who serves the lane has how far all was
// acknowledged, as the last owner has seen, and who led the consumer. Another leader may have lost
// count since: what it says is acknowledged behind that mark is asked for again. Most of it is done,
// and is known by its id.

// A mark is how far all was acknowledged, as an owner has seen.
type mark struct {
	Done   uint64 `json:"done,omitempty"`
	Leader string `json:"leader,omitempty"` // of the consumer, and since when; empty without replicas
}

// leaderOf names who leads a consumer with replicas; it is empty for any other.
func leaderOf(info *jetstream.ConsumerInfo) string {
	c := info.Cluster
	if c == nil || c.Leader == "" || len(c.Replicas) == 0 {
		return ""
	}
	since := time.Time{}
	if c.LeaderSince != nil {
		since = *c.LeaderSince
	}
	return c.Leader + " " + since.UTC().Format(time.RFC3339Nano)
}

// doubts reports whether the server may have lost count since it was noted how far all is done: the
// consumer has another leader, and this host has not seen for itself what is.
func (l *Lane) doubts(note ownership, info *jetstream.ConsumerInfo) bool {
	served := note.Host == l.cfg.Host && l.pin != "" && (note.Pin == l.pin || note.Pin == "")
	return !served && note.ofAnother(info)
}

// ofAnother reports whether it was noted of another leader of the consumer.
func (m mark) ofAnother(info *jetstream.ConsumerInfo) bool {
	now := leaderOf(info)
	return m.Leader != "" && now != "" && now != m.Leader
}

// leftBehind reports whether a host that died may have left what the server counts as acknowledged,
// where no message is to come: one would have the next host take the lane over, and doubt. It looks
// once for each leader of the consumer; takeBack knows whether it was this host.
func (l *Lane) leftBehind(ctx context.Context, info *jetstream.ConsumerInfo) bool {
	leader := leaderOf(info)
	if pinnedClient(info) != "" || info.NumPending+uint64(info.NumAckPending) > 0 || leader == "" || leader == l.trusted {
		return false
	}
	note, err := l.owner.read(ctx)
	if err != nil {
		return false // the next look is soon
	}
	l.trusted = leader
	return note.Done < info.AckFloor.Stream && note.ofAnother(info)
}

// markOf is what this host sees: nothing that it was given is owed before that.
func (l *Lane) markOf(info *jetstream.ConsumerInfo) mark {
	done := info.AckFloor.Stream
	if first := l.held.firstOwed(); first > 0 {
		done = min(done, first-1)
	}
	if from := l.leftOut(); from > 0 {
		done = min(done, from-1)
	}
	return mark{done, leaderOf(info)}
}

// noteMark notes how far all is acknowledged and what the consumer takes, where that has changed and
// this host was the last to serve the lane. It reports whether something was left out that no host has
// asked for.
func (l *Lane) noteMark(ctx context.Context, info *jetstream.ConsumerInfo) (leftOut bool) {
	now, pin, mine := l.markOf(info), pinnedClient(info), l.pinned.Load()
	if mine == nil || pin != "" && pin != *mine {
		return false
	}
	takes := l.takes(info.Config)
	err := l.owner.change(ctx, func(note *ownership) bool {
		if note.Host != l.cfg.Host || note.Pin != *mine {
			return false
		}
		leftOut = l.found(*note)
		if note.mark == now && (takes == nil || slices.Equal(takes, note.Takes)) {
			return false
		}
		note.mark = now
		if takes != nil {
			note.Takes = takes
		}
		return true
	})
	if err != nil {
		l.log.Debug().Err(err).Msg("note how far the lane is done: failed; the next look is soon")
	}
	return leftOut
}

// change writes a note as change has made it, unless that says no or another host has written
// meanwhile.
func (s ownershipStore) change(ctx context.Context, change func(*ownership) bool) error {
	entry, err := records.NewReader(s.js).Entry(ctx, bus.LanesBucket, s.key)
	if err != nil {
		return fmt.Errorf("read who serves the lane: %w", err)
	}
	var note ownership
	if err := json.Unmarshal(entry.Data, &note); err != nil {
		return fmt.Errorf("read who serves the lane: %w", err)
	}
	if !change(&note) {
		return nil
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	kv, err := s.js.KeyValue(ctx, bus.LanesBucket)
	if err == nil {
		_, err = records.Replace(ctx, kv, s.key, data, entry.Seq)
	}
	return err
}
