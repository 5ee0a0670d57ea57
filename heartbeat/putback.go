package heartbeat

import (
	"context"
	"errors"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// putBack writes an entry again that was lost with what the bucket held, or that no host can read. One
// that was deleted, or that another host was quicker to write, stays as it is.
func (k *Keeper) putBack(ctx context.Context, kv jetstream.KeyValue, e Entry) error {
	there, err := k.Reader.Entry(ctx, bus.SchedulesBucket, e.Key())
	switch {
	case lost(err):
	case errors.Is(err, records.ErrNotFound):
		return nil
	case err != nil:
		return err
	default:
		if now, err := decodeKept(there.Seq, there.Data); err == nil && now.Key() == e.Key() {
			return nil
		}
	}
	if err := putEntry(ctx, kv, e, there.Seq); err != nil {
		if records.Overtaken(err) {
			return nil
		}
		return err
	}
	k.Log.Warn().Str("agent", e.Agent).Str("schedule", e.Name).Str("bucket", bus.SchedulesBucket).
		Msg("the schedule was lost or overwritten in its bucket: this host has put it back")
	return nil
}

// lost reports whether err is that of an entry of which the bucket does not say that it was deleted.
func lost(err error) bool {
	return errors.Is(err, records.ErrNotFound) && !errors.Is(err, records.ErrDeleted)
}
