package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// What a deleted session has answered may come again, by a lane that changes its host, and no log
// says any more that it has its end. So a record says how far the streams had come when it was
// deleted. It names the session by its hash, and is gone when no stream has such a message any
// more.

// A Tombstone says of a session that was deleted how far the streams of lanes had come by then. The
// zero Tombstone is that of one that was not.
type Tombstone struct {
	Reached map[string]uint64 `json:"reached"` // the last sequence of each stream
	at      time.Time         // when it was stored
}

// remade is how much older than the record what it covers must be at least: a stream that was
// made anew counts from 1.
const remade = -time.Minute

// Covers reports whether a message was there when the session was deleted: stream, sequence
// and when it was stored.
func (d Tombstone) Covers(stream string, seq uint64, stored time.Time) bool {
	return seq <= d.Reached[stream] && d.at.Sub(stored) >= remade
}

// deletedKey is where AGENT_REQUESTS, which keeps what it has for as long as any stream of lanes,
// has the record.
func deletedKey(agent, sid string) string { return deletedPrefix + agent + "." + sid }

const deletedPrefix = "deleted."

// TombstoneOf reports of which session a key of AGENT_REQUESTS has the record, if it has one.
func TombstoneOf(key string) (agent, sid string, ok bool) {
	rest, ok := strings.CutPrefix(key, deletedPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// Tombstone reads what is known of the deletion of a session.
func (s *Store) Tombstone(ctx context.Context, agent string, key Key) (d Tombstone, err error) {
	rec, err := s.Reader.Entry(ctx, bus.RequestsBucket, deletedKey(agent, SID(agent, key)))
	switch {
	case errors.Is(err, records.ErrNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("find out whether the session was deleted: %w", err)
	}
	if json.Unmarshal(rec.Data, &d) != nil {
		return Tombstone{}, nil //nolint:nilerr // no host has written it
	}
	d.at = rec.Time
	return d, nil
}

// reached is how far the streams of lanes have come. Of a session whose last commit is so old, by the
// clock of NATS, that none of them has a message of it any more it is nothing.
func (a *Archive) reached(ctx context.Context, last time.Time) (d Tombstone, err error) {
	d.Reached = map[string]uint64{}
	for _, name := range bus.LaneStreams() {
		stream, err := a.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
		case err != nil:
			return d, fmt.Errorf("look up stream %s: %w", name, err)
		case stream.CachedInfo().TimeStamp.Sub(last) <= bus.RequestsAge:
			d.Reached[name] = stream.CachedInfo().State.LastSeq
		}
	}
	return d, nil
}

// noteDeleted keeps the record of a deletion.
func (a *Archive) noteDeleted(ctx context.Context, agent, sid string, d Tombstone) error {
	if len(d.Reached) == 0 {
		return nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	kv, err := a.js.KeyValue(ctx, bus.RequestsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) { // of a fleet before 0.2
		return nil
	}
	if err == nil {
		_, err = kv.Put(ctx, deletedKey(agent, sid), data)
	}
	if err != nil {
		return fmt.Errorf("note the deletion: %w; delete the session again", err)
	}
	return nil
}

// Deleted reports whether there is a record of the deletion of a session. A fleet before 0.2, which
// keeps none, may have deleted any.
func (a *Archive) Deleted(ctx context.Context, agent, sid string) (bool, error) {
	_, err := a.store.Reader.Entry(ctx, bus.RequestsBucket, deletedKey(agent, sid))
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return true, nil
	case errors.Is(err, records.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find out whether the session was deleted: %w", err)
	}
	return true, nil
}

// NoteDeletion keeps the record of a deletion that is made by other means than Delete.
func (a *Archive) NoteDeletion(ctx context.Context, agent, sid string) error {
	now, err := a.Now(ctx)
	if err != nil {
		return err
	}
	d, err := a.reached(ctx, now)
	if err != nil {
		return err
	}
	return a.noteDeleted(ctx, agent, sid, d)
}
